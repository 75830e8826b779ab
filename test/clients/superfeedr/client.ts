/**
 * superfeedr 0.2.0 from npm, driven by a test: `client.ts PORT LOGIN PASSWORD`, see `test/support/ThirdPartyClient.ts`.
 *
 * Its built-in names, superfeedr.com and firehoser.superfeedr.com, belong to a server on loopback.
 */
import dns from "node:dns"
import { createInterface } from "node:readline"
import Superfeedr from "superfeedr"

const [, , port = "", login = "", password = ""] = process.argv

type Found = (error: Error | null, records?: ReadonlyArray<dns.SrvRecord>) => void

Object.assign(dns, {
  resolveSrv: (name: string, found: Found) =>
    name === "_xmpp-client._tcp.superfeedr.com"
      ? found(null, [{ name: "127.0.0.1", port: Number(port), priority: 0, weight: 0 }])
      : found(new Error(`${name} is not known here`))
})

const write = (line: unknown): void => void process.stdout.write(`${JSON.stringify(line)}\n`)

const superfeedr = new Superfeedr(login, password)
// node-xmpp writes names and quotes of a stanza one by one. Expat (2.6, and Debian's 2.5) looks at an incomplete tag again only after twice
// as many bytes, and LuaExpat 1.5.1 cannot change that. On a busy machine, Prosody would see the end of a stanza only with the next one.
// This hook writes stanzas whole.
superfeedr.client.socket.serializeStanza = (stanza, write) => write(stanza.toString())
superfeedr.client.on("error", (error: unknown) => {
  process.stderr.write(`${String(error)}\n`)
  process.exit(1)
})
superfeedr.on("connected", () => write({ event: "connected" }))
superfeedr.on("notification", (value: unknown) => write({ event: "notification", value }))
superfeedr.on("status", (value: unknown) => write({ event: "status", value }))

const perform = (verb: string, url: string, done: (error: Error | null, result: unknown) => void): void => {
  switch (verb) {
    case "subscribe":
      return superfeedr.subscribe(url, done)
    case "unsubscribe":
      return superfeedr.unsubscribe(url, done)
    case "retrieve":
      return superfeedr.retrieve(url, done)
    default:
      return superfeedr.list(1, done)
  }
}

createInterface({ input: process.stdin }).on("line", (line) => {
  const { id, url, verb }: { readonly id: number; readonly verb: string; readonly url: string } = JSON.parse(line)
  perform(verb, url, (error, result) => write(error === null ? { id, result } : { id, error: String(error) }))
}).once("close", () => process.exit(0))
