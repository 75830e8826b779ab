import xml, { type Element } from "@xmpp/xml"
import { Data, Effect, Schedule } from "effect"
import { connect as dial, type Socket } from "node:net"
import { untilAmong } from "./Until.ts"

export class ClientError extends Data.TaggedError("ClientError")<{ readonly message: string }> {}

/** A client of an XMPP server: what a person's program would be, reduced to what is sent and received. */
export interface XmppClient {
  readonly jid: string
  /** All stanzas that came and were no answer to `request`. */
  readonly stanzas: Array<Element>
  readonly send: (text: string) => void
  /** Sends an iq of this type, and returns its answer. */
  readonly request: (type: "get" | "set", payload: string, to?: string) => Effect.Effect<Element>
  /** Resolves when `condition` holds; asked again when a stanza has come. */
  readonly until: (condition: () => boolean) => Effect.Effect<void>
  readonly socket: Socket
}

/** Logs in with SASL PLAIN, binds and is present. Closed with the scope. */
export const login = Effect.fnUntraced(function*(options: {
  readonly port: number
  readonly login: string
  readonly password: string
  readonly domain: string
  readonly component: string
  /** False: messages wait on the server. */
  readonly present?: boolean
}) {
  const { component, domain, login, password, port } = options
  const socket = yield* Effect.acquireRelease(
    Effect.sync(() => dial({ host: "127.0.0.1", port, noDelay: true }).setEncoding("utf8")),
    (socket) => Effect.sync(() => socket.destroy())
  )
  const stanzas: Array<Element> = []
  const answers = new Map<string, (answer: Element) => void>()
  const waiting = new Set<() => void>()
  let serial = 0
  let hear: (element: Element) => void = () => {}

  const attach = () => {
    const parser = new xml.Parser()
    parser.on("element", (element: Element) => hear(element))
    parser.on("error", () => socket.destroy())
    socket.removeAllListeners("data").on("data", (text: string) => parser.write(text))
    socket.write(
      `<?xml version='1.0'?><stream:stream xmlns='jabber:client' xmlns:stream='http://etherx.jabber.org/streams' ` +
        `version='1.0' to='${domain}'>`
    )
  }

  const next = (start: () => void) =>
    Effect.callback<Element, ClientError>((resume) => {
      const lost = () => resume(Effect.fail(new ClientError({ message: "the connection was closed" })))
      hear = (element) => resume(Effect.succeed(element))
      socket.once("close", lost).once("error", lost)
      start()
    })

  const online = Effect.gen(function*() {
    yield* next(() => socket.once("connect", attach))
    const plain = Buffer.from(`\0${login}\0${password}`).toString("base64")
    const verdict = yield* next(() =>
      socket.write(`<auth xmlns='urn:ietf:params:xml:ns:xmpp-sasl' mechanism='PLAIN'>${plain}</auth>`)
    )
    if (verdict.getName() !== "success") {
      return yield* new ClientError({
        message: verdict.children.map((child) => typeof child === "string" ? child : child.name).join(" ")
      })
    }
    yield* next(attach)
    const bound = yield* next(() =>
      socket.write("<iq type='set' id='bind'><bind xmlns='urn:ietf:params:xml:ns:xmpp-bind'/></iq>")
    )
    return bound.getChild("bind")?.getChildText("jid") ?? ""
  })
  const jid = yield* online

  hear = (element) => {
    const answer = answers.get(element.attrs["id"] ?? "")
    if (element.name === "iq" && answer !== undefined) answer(element)
    else stanzas.push(element)
    for (const look of waiting) look()
  }
  socket.on("error", () => {})
  if (options.present !== false) socket.write("<presence/>")

  const client: XmppClient = {
    jid,
    stanzas,
    socket,
    send: (text) => void socket.write(text),
    request: (type, payload, to = component) =>
      Effect.callback<Element>((resume) => {
        const id = `q${++serial}`
        answers.set(id, (answer) => resume(Effect.succeed(answer)))
        socket.write(`<iq type='${type}' id='${id}' to='${to}'>${payload}</iq>`)
        return Effect.sync(() => void answers.delete(id))
      }),
    until: untilAmong(waiting)
  }
  return client
})

/** The same, tried until the server lets us in. */
export const loginPatiently = (options: Parameters<typeof login>[0]) =>
  login(options).pipe(Effect.retry(Schedule.spaced("100 millis")))
