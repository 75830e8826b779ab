import { readFileSync } from "node:fs"
import { domainToASCII } from "node:url"

/*
 * Logins of an ejabberd are accounts of Windhover: its program for `auth_method: external`.
 *
 *   extauth_program: "/opt/windhover/bin/node /opt/windhover/deploy/ejabberd/auth.ts URL [FILE]"
 *
 * URL is Windhover's /internal/xmpp/auth; FILE holds its WINDHOVER_XMPP_AUTH_SECRET, and is needed only if Windhover runs on another machine.
 * Of the project nothing else is needed, and no package: Node 22.19, or 24 and later.
 *
 * ejabberd asks on standard input, and has its answers on standard output, each behind its length in two bytes, the higher one first:
 *
 *   auth:LOGIN:DOMAIN:PASSWORD   is it right?          ─┐
 *   isuser:LOGIN:DOMAIN          is there an account?   ├─►  00 01 yes, 00 00 no
 *   setpass:…, tryregister:… …   changes: no           ─┘
 */

/** Time for Windhover's answer, in ms. ejabberd waits 10 s. */
const patience = 8_000

const [url = "http://127.0.0.1:8080/internal/xmpp/auth", secretFile] = process.argv.slice(2)
const secret = secretFile === undefined ? undefined : readFileSync(secretFile, "utf8").trim()

/** Writes to the log of ejabberd's console. Passwords never appear there. */
const complain = (what: string): void => void process.stderr.write(`windhover auth: ${what}\n`)

/** Sends the password to Windhover, with any characters. Redirects are not followed, so that no other server gets the password. */
const isRight = async (login: string, domain: string, password: string): Promise<boolean> => {
  try {
    const { status } = await fetch(url, {
      method: "POST",
      redirect: "manual",
      signal: AbortSignal.timeout(patience),
      headers: {
        "authorization": `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`,
        "x-xmpp-domain": domainToASCII(domain),
        ...(secret === undefined ? {} : { "x-internal-secret": secret })
      }
    })
    if (status === 204) return true
    if (status !== 401 && status !== 403) complain(`${url} answered ${status}; the login of ${login} cannot be checked`)
  } catch (error) {
    complain(`${url} does not answer (${String(error)}); the login of ${login} cannot be checked`)
  }
  return false
}

/** Only the password may hold colons. */
const question = /^(\w+):([^:]+):([^:]+)(?::(.*))?$/s

const answer = async (asked: string): Promise<boolean> => {
  const [, verb, login = "", domain = "", password] = question.exec(asked) ?? []
  switch (verb) {
    case "auth":
      return password !== undefined && await isRight(login, domain, password)
    case "isuser": // this program, like Windhover, does not reveal to strangers which accounts exist
      return true
    default:
      return false // Windhover alone creates and changes accounts
  }
}

/** Handles requests one after the other. A request may arrive in several pieces. */
let read = Buffer.alloc(0)
for await (const chunk of process.stdin) {
  read = Buffer.concat([read, chunk])
  while (read.length >= 2 && read.length >= 2 + read.readUInt16BE(0)) {
    const end = 2 + read.readUInt16BE(0)
    const yes = await answer(read.toString("utf8", 2, end))
    read = read.subarray(end)
    process.stdout.write(Buffer.from([0, 2, 0, yes ? 1 : 0]))
  }
}
