import { client as connect } from "@xmpp/client"
import type { Element } from "@xmpp/xml"
import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import type { Ledger } from "./Ledger.ts"

/** Presence of a client. `comes-and-goes`: five seconds online, five seconds offline. `absent`: online only at the start and the end. */
export type Habit = "stays" | "comes-and-goes" | "absent"

export interface ClientOptions {
  readonly port: number
  readonly domain: string
  readonly component: string
  readonly login: string
  readonly password: string
  readonly habit: Habit
  readonly ledger: Ledger
}

const stepMs = 5_000

/** Time of a client for a login, and for an answer of the component, in ms. */
const timeoutMs = 20_000

type Connection = Awaited<ReturnType<typeof login>>

const login = async (
  { component, domain, ledger, login: username, password, port }: ClientOptions,
  isPresent: boolean
) => {
  const service = `xmpp://127.0.0.1:${port}`
  const xmpp = connect({
    service,
    domain,
    timeout: timeoutMs,
    credentials: (authenticate) => authenticate({ username, password }, "PLAIN")
  })
  const answers = new Map<string, (answer: Element) => void>()
  xmpp.reconnect.stop()
  xmpp.on("error", () => {})
  xmpp.on("connect", () => xmpp.socket?.setEncoding("utf8"))
  xmpp.on("stanza", (stanza: Element) => {
    answers.get(stanza.attrs["id"] ?? "")?.(stanza)
    const entry = stanza.getChild("event")?.getChild("items")?.getChild("item")?.attrs["id"]
    if (stanza.name === "message" && entry !== undefined) ledger.receive({ jid: `${username}@${domain}`, entry })
  })
  const write = (text: string) => xmpp.write(text).catch(() => {})
  try {
    await xmpp.connect(service)
    const signal = AbortSignal.timeout(timeoutMs)
    await Promise.all([once(xmpp, "online", { signal }), xmpp.open({ domain })])
  } catch (error) {
    xmpp.socket?.destroy()
    throw error
  }
  if (isPresent) await write("<presence/>")
  return {
    socket: xmpp.socket,
    /** Sends a set to the component; resolves with the type of the answer. */
    request: async (payload: string, id: string): Promise<string | undefined> => {
      const { promise, resolve } = Promise.withResolvers<Element>()
      answers.set(id, resolve)
      await write(`<iq type="set" id="${id}" to="${component}">${payload}</iq>`)
      const first = await Promise.race([promise, sleep(timeoutMs)])
      return first?.attrs["type"]
    },
    /** Says goodbye, so that the server stores later messages. Messages on a connection that just breaks would be lost. */
    leave: async () => {
      await write("<presence type=\"unavailable\"/>")
      await sleep(200)
      await write("</stream:stream>")
      await sleep(200)
      xmpp.socket?.destroy()
    }
  }
}

/** A client with a habit. */
export class Client {
  readonly jid: string
  readonly #options: ClientOptions
  #isStopped = false
  #connection: Connection | undefined

  constructor(options: ClientOptions) {
    this.#options = options
    this.jid = `${options.login}@${options.domain}`
  }

  /** Subscribes to the nodes, and repeats until each one is accepted. */
  async subscribe(nodes: ReadonlyArray<string>): Promise<void> {
    const connection = await this.#login(false)
    for (let i = 0; i < nodes.length; i += 20) {
      const payload = `<pubsub xmlns="http://jabber.org/protocol/pubsub">${
        nodes.slice(i, i + 20).map((node) => `<subscribe node="${node}" jid="${this.jid}"/>`).join("")
      }</pubsub>`
      for (let attempt = 0; await connection.request(payload, `s${i}-${attempt}`) !== "result"; attempt++) {
        await sleep(500)
      }
    }
    await connection.leave()
  }

  /** Follows the habit until `stop`. */
  async run(): Promise<void> {
    if (this.#options.habit === "absent") return
    while (!this.#isStopped) {
      this.#connection = await this.#login(true)
      const { socket } = this.#connection
      if (socket === null || socket.destroyed) continue
      const closed = once(socket, "close")
      await (this.#options.habit === "stays" ? closed : Promise.race([closed, sleep(stepMs)]))
      if (this.#options.habit === "stays" || this.#isStopped) continue
      await this.#connection.leave()
      await sleep(stepMs)
    }
  }

  /** Logs in for good, to receive what the server has stored. */
  async comeOnline(): Promise<void> {
    if (this.#options.habit === "stays") return
    this.#isStopped = true
    await this.#connection?.leave()
    this.#connection = await this.#login(true)
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#connection?.socket?.destroy()
  }

  async #login(isPresent: boolean): Promise<Connection> {
    while (true) {
      try {
        return await login(this.#options, isPresent)
      } catch {
        await sleep(300)
      }
    }
  }
}
