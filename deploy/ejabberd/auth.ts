import { readFileSync } from "node:fs"
import { domainToASCII } from "node:url"

/*
 * Program for ejabberd's `auth_method: external`. The accounts of Windhover are the logins of the XMPP server.
 *
 *   extauth_program: "/opt/windhover/bin/node /opt/windhover/deploy/ejabberd/auth.ts URL [FILE]"
 *
 * URL is Windhover's /internal/xmpp/auth. FILE holds WINDHOVER_XMPP_AUTH_SECRET, and is needed only if Windhover runs on another machine.
 * The program needs no other file of the project and no package, but Node 22.19, or 24 and later.
 *
 * ejabberd writes requests to standard input and reads replies from standard output. The length precedes each message, as two bytes in
 * network order:
 *
 *   auth:LOGIN:DOMAIN:PASSWORD   checks the password           ─┐
 *   isuser:LOGIN:DOMAIN          checks whether a login exists  ├─►  00 01 yes, 00 00 no
 *   setpass:…, tryregister:… …   changes of accounts: no       ─┘
 */

/** Time for Windhover's answer, in ms. ejabberd waits 10 s. */
const timeoutMs = 8_000

const [url = "http://127.0.0.1:8080/internal/xmpp/auth", secretFile] = process.argv.slice(2)
const secret = secretFile === undefined ? undefined : readFileSync(secretFile, "utf8").trim()

/** Writes to the log of ejabberd's console. Passwords never appear there. */
const warn = (problem: string): void => void process.stderr.write(`windhover auth: ${problem}\n`)

/** Sends the password to Windhover, with any characters. Redirects are not followed, so that no other server gets the password. */
const checkPassword = async (login: string, domain: string, password: string): Promise<boolean> => {
  try {
    const { status } = await fetch(url, {
      method: "POST",
      redirect: "manual",
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        "authorization": `Basic ${Buffer.from(`${login}:${password}`).toString("base64")}`,
        "x-xmpp-domain": domainToASCII(domain),
        ...(secret === undefined ? {} : { "x-internal-secret": secret })
      }
    })
    if (status === 204) return true
    if (status !== 401 && status !== 403) warn(`${url} answered ${status}; the login of ${login} cannot be checked`)
  } catch (error) {
    warn(`${url} does not answer (${String(error)}); the login of ${login} cannot be checked`)
  }
  return false
}

/** Only the password may hold colons. */
const requestPattern = /^(\w+):([^:]+):([^:]+)(?::(.*))?$/s

const answer = async (line: string): Promise<boolean> => {
  const [, verb, login = "", domain = "", password] = requestPattern.exec(line) ?? []
  switch (verb) {
    case "auth":
      return password !== undefined && await checkPassword(login, domain, password)
    case "isuser": // Windhover does not reveal to strangers which accounts exist
      return true
    default:
      return false // Windhover alone creates and changes accounts
  }
}

/** Handles requests one after the other. A request may arrive in several pieces. */
let received = Buffer.alloc(0)
for await (const chunk of process.stdin) {
  received = Buffer.concat([received, chunk])
  while (received.length >= 2 && received.length >= 2 + received.readUInt16BE(0)) {
    const end = 2 + received.readUInt16BE(0)
    const yes = await answer(received.toString("utf8", 2, end))
    received = received.subarray(end)
    process.stdout.write(Buffer.from([0, 2, 0, yes ? 1 : 0]))
  }
}
