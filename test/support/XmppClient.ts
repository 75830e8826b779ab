import { client as connect } from "@xmpp/client"
import type { Element } from "@xmpp/xml"
import { Data, Effect, Schedule } from "effect"
import { once } from "node:events"
import type { Socket } from "node:net"
import { awaitCondition } from "./AwaitCondition.ts"

export class ClientError extends Data.TaggedError("ClientError")<{ readonly message: string }> {}

/** Time for a step of a login, in ms, on a busy machine. */
const loginTimeoutMs = 60_000

/** An XMPP client, reduced to sending and receiving stanzas. */
export interface XmppClient {
  readonly jid: string
  /** Received stanzas, without the answers to `request`. */
  readonly stanzas: Array<Element>
  readonly send: (text: string) => void
  /** Sends an iq of this type, and returns its answer. */
  readonly request: (type: "get" | "set", payload: string, to?: string) => Effect.Effect<Element>
  /** Resolves when `condition` holds; checked at each stanza. */
  readonly until: (condition: () => boolean) => Effect.Effect<void>
  readonly socket: Socket
}

/** Logs in with `@xmpp/client` and sends a presence. Closed with the scope. */
export const login = Effect.fnUntraced(function*(options: {
  readonly port: number
  readonly login: string
  readonly password: string
  readonly domain: string
  readonly component: string
  /** False sends no presence: messages wait on the server. */
  readonly present?: boolean
}) {
  const { component, domain, login: username, password, port } = options
  const stanzas: Array<Element> = []
  const answers = new Map<string, (answer: Element) => void>()
  const waiting = new Set<() => void>()
  let serial = 0

  const service = `xmpp://127.0.0.1:${port}`
  const xmpp = connect({
    service,
    domain,
    timeout: loginTimeoutMs,
    // by default, the client sends passwords on encrypted streams only
    credentials: (authenticate) => authenticate({ username, password }, "PLAIN")
  })
  xmpp.reconnect.stop() // tests log in again on their own
  xmpp.on("error", () => {}) // a failed login rejects its promise; later errors close the socket
  xmpp.on("connect", () => xmpp.socket?.setEncoding("utf8")) // a character may span two reads, for which the client is not prepared
  xmpp.on("stanza", (stanza: Element) => {
    const answer = answers.get(stanza.attrs["id"] ?? "")
    if (stanza.name === "iq" && answer !== undefined) answer(stanza)
    else stanzas.push(stanza)
    for (const check of waiting) check()
  })
  const send = (text: string) => void xmpp.write(text).catch(() => {})

  // not `start`: when a write fails during its `open`, its promise of `online` rejects without a handler
  const online = Effect.tryPromise({
    try: async () => {
      await xmpp.connect(service)
      const [[jid]] = await Promise.all([once(xmpp, "online"), xmpp.open({ domain })])
      return String(jid)
    },
    catch: (error) => new ClientError({ message: String(error) })
  })
  const { jid, socket } = yield* Effect.acquireRelease(
    Effect.flatMap(online, (jid) =>
      xmpp.socket === null
        ? Effect.fail(new ClientError({ message: "the connection was closed" }))
        : Effect.succeed({ jid, socket: xmpp.socket })).pipe(
        Effect.onError(() => Effect.sync(() => xmpp.socket?.destroy()))
      ),
    ({ socket }) => Effect.sync(() => socket.destroy())
  )
  if (options.present !== false) send("<presence/>")

  const client: XmppClient = {
    jid,
    stanzas,
    socket,
    send,
    request: (type, payload, to = component) =>
      Effect.callback<Element>((resume) => {
        const id = `q${++serial}`
        answers.set(id, (answer) => resume(Effect.succeed(answer)))
        send(`<iq type='${type}' id='${id}' to='${to}'>${payload}</iq>`)
        return Effect.sync(() => void answers.delete(id))
      }),
    until: awaitCondition(waiting)
  }
  return client
})

/** Logs in, and retries until the server accepts the login. */
export const loginPatiently = (options: Parameters<typeof login>[0]) =>
  login(options).pipe(Effect.retry(Schedule.spaced("100 millis")))
