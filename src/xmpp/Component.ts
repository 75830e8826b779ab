import type { Element } from "@xmpp/xml"
import { Clock, Deferred, Effect, Fiber, Latch, Metric, Random, type Scope } from "effect"
import { renderAttribute } from "#domain/render/Xml.ts"
import * as Jid from "#domain/Jid.ts"
import type { Config } from "./Config.ts"
import * as Link from "./Link.ts"
import { ns } from "./Namespaces.ts"
import { maxStanza } from "./Notifications.ts"
import { OutgoingQueue, type SendResult } from "./OutgoingQueue.ts"

export interface Options extends Config {
  /** Gets every stanza but the answers to our own; must not throw. */
  readonly hear: (stanza: Element) => void
  /** The connection is gone; must not throw. */
  readonly lost?: () => void
  /** Writes down what the server has taken. The batch after the next one waits for it: what is not written down is sent again after a crash. */
  readonly note?: Effect.Effect<void>
}

/** The component as the rest of the room sees it: connected most of the time, and connecting again by itself. */
export interface Component {
  /** Sends a delivery, and tells its fate: `taken` when the server has it. `id` is stable over tries. */
  readonly deliver: (id: string, messages: ReadonlyArray<string>) => Effect.Effect<SendResult>
  /** Sends an answer, if there is a connection: without it nobody waits any more. Gives the reason, in words, when it cannot be sent. */
  readonly reply: (stanza: string) => string | undefined
  /** Bytes that wait for the server to read them: of all, and of answers. */
  readonly unread: () => number
  readonly unreadAnswers: () => number
}

/** Milliseconds for the server to answer a fence. */
const fenceTimeout = 30_000

/** A connection that nothing is sent on is tried after so many ms. */
const idle = 30_000

/** When the server is away for so many ms, deliveries wait in the outbox. */
const patience = 5_000

/** A connection that lasted so many ms was a good one: the waits begin anew. */
const good = 5_000

/** Milliseconds before the next connection, after so many that were no good: 0.2, 0.4, 0.8 … 10 s. */
const backoff = (failures: number): number => Math.min(200 * 2 ** failures, 10_000)

/** Milliseconds: what only the operator can mend is tried again, but rarely. */
const hopeless = 60_000

/** So many conflicts in a row may pass: when the component moves, a busy server may not know yet that its last owner has hung up. */
const passingConflicts = 2

const isHopeless = ({ reason }: Link.LinkError, failures: number): boolean =>
  reason === "refused" || (reason === "replaced" && failures > passingConflicts)

const connected = Metric.gauge("windhover_xmpp_connected", {
  description: "1 while the component has a stream to its XMPP server"
})

/** Connects, and stays connected as long as the scope is open. */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<Component, never, Scope.Scope> {
  const { note = Effect.void } = options
  const outgoing = new OutgoingQueue(yield* Latch.make())
  const scope = yield* Effect.scope
  yield* Effect.addFinalizer(() => Effect.sync(() => outgoing.end()))
  const fences = new Receipts(options)
  let noting: Fiber.Fiber<void> = yield* Effect.forkIn(Effect.void, scope)
  let link: Link.Link | undefined
  let upSince = 0
  let downSince: number | undefined = yield* Clock.currentTimeMillis

  const hear = (stanza: Element) => {
    if (!fences.hear(stanza)) options.hear(stanza)
  }

  /** A batch, and the proof that the server has it; without work, a sign of life now and then. */
  const step = Effect.fnUntraced(function*(link: Link.Link) {
    yield* Effect.timeoutOption(outgoing.some, idle)
    yield* fences.after(link, outgoing.batch().join(""))
    outgoing.confirm()
    yield* Fiber.await(noting)
    noting = yield* Effect.forkIn(note, scope) // begins when those who waited for the batch have told what is to be written down
  })

  const session = Effect.gen(function*() {
    const opened = yield* Link.open(options, hear)
    yield* Effect.raceFirst(fences.after(opened, ""), opened.ended)
    link = opened
    upSince = yield* Clock.currentTimeMillis
    downSince = undefined
    yield* Metric.update(connected, 1)
    yield* Effect.logInfo(`XMPP: ${options.component} is connected to ${options.host}:${options.port}`)
    return yield* Effect.raceFirst(Effect.forever(step(opened)), opened.ended)
  }).pipe(
    Effect.scoped,
    Effect.catchDefect((defect) =>
      Effect.andThen(
        Effect.logError("XMPP: the component crashed and goes on", defect),
        Effect.fail(new Link.LinkError({ reason: "closed", message: "a crash" }))
      )
    )
  )

  const ended = Effect.fnUntraced(function*(error: Link.LinkError) {
    const now = yield* Clock.currentTimeMillis
    const wasGood = link !== undefined && now - upSince >= good
    link = undefined
    downSince ??= now
    options.lost?.()
    yield* Metric.update(connected, 0)
    for (const id of outgoing.lost(error.reason === "blamed")) {
      yield* Effect.logError(`XMPP: the notification ${id} closed the stream again and is given up`)
    }
    if (now - downSince >= patience) outgoing.away()
    return wasGood
  })

  const run = Effect.gen(function*() {
    let failures = 0
    while (true) {
      const error = yield* Effect.flip(session)
      failures = (yield* ended(error)) ? 0 : failures + 1
      const wait = isHopeless(error, failures) ? hopeless : backoff(failures)
      yield* tell(error, options, failures)
      if (wait > patience) outgoing.away() // nobody should wait here for so long
      yield* Effect.sleep(wait * (0.8 + 0.4 * (yield* Random.next)))
    }
  })

  yield* Effect.forkScoped(run)

  const isAway = Effect.map(
    Clock.currentTimeMillis,
    (now) => downSince !== undefined && now - downSince >= patience
  )

  return {
    deliver: Effect.fnUntraced(function*(id, messages) {
      const problem = messages.map(problemOf).find((one) => one !== undefined)
      if (problem !== undefined) {
        yield* Effect.logError(`XMPP: the notification ${id} is not sent: ${problem}`)
        return "poison"
      }
      if (yield* isAway) return "away"
      return yield* outgoing.send(id, messages)
    }),
    reply: (stanza) => {
      const problem = problemOf(stanza)
      if (problem === undefined) link?.answer(stanza)
      return problem
    },
    unread: () => link?.unread() ?? 0,
    unreadAnswers: () => link?.unreadAnswers() ?? 0
  }
})

/** XML 1.0 knows no other characters, and one that it does not know closes the stream. */
const illegal = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u

/** Why a stanza cannot be sent, in words. The last gate: whatever is written passes it. */
const problemOf = (stanza: string): string | undefined => {
  if (illegal.test(stanza)) return "it holds a character that XML does not allow"
  const size = Buffer.byteLength(stanza)
  return size > maxStanza ? `it has ${size} bytes; at most ${maxStanza} are sent` : undefined
}

const tell = (error: Link.LinkError, { component, host, port }: Options, failures: number) => {
  const where = `${component} at ${host}:${port}`
  if (!isHopeless(error, failures)) {
    return failures > 3
      ? Effect.logDebug(`XMPP: no connection for ${where} (${error.message})`)
      : Effect.logWarning(`XMPP: no connection for ${where} (${error.message}); deliveries wait`)
  }
  return Effect.logError(
    error.reason === "refused"
      ? `XMPP: the server refuses ${where}: WINDHOVER_XMPP_SECRET is not the secret that the server has for it (${error.message})`
      : `XMPP: another component has the name of ${where}; is a second Windhover running? (${error.message})`
  )
}

/** Pings of the server's own domain, which proves by its answer that it has read all before: it answers in order, so that the answer is a receipt for all that was written before. */
class Receipts {
  readonly #from: string
  readonly #to: string
  /** The same as addresses are compared: who answers may spell it differently. */
  readonly #domain: string
  #last = 0
  #open: { readonly id: string; readonly passed: Deferred.Deferred<void> } | undefined

  constructor({ component, domain }: Options) {
    this.#from = component
    this.#to = domain
    this.#domain = Jid.domainOf(domain)
  }

  /** Writes text and a fence behind it; returns when the fence is answered. */
  after(link: Link.Link, text: string): Effect.Effect<void, Link.LinkError> {
    return Effect.suspend(() => {
      const id = `fence-${++this.#last}`
      const passed = Deferred.makeUnsafe<void>()
      this.#open = { id, passed }
      link.write(
        `${text}<iq type="get"${renderAttribute("from", this.#from)}${renderAttribute("to", this.#to)}${
          renderAttribute("id", id)
        }>` +
          `<ping xmlns="${ns.ping}"/></iq>`
      )
      return Deferred.await(passed)
    }).pipe(
      Effect.timeoutOrElse({
        duration: fenceTimeout,
        orElse: () =>
          Effect.fail(
            new Link.LinkError({
              reason: "closed",
              message: `the server did not answer within ${fenceTimeout / 1000} s`
            })
          )
      })
    )
  }

  /** True for the answer to the fence. An error is one as well: the server has read up to here. Anybody can guess the id, nobody the sender. */
  hear({ attrs: { from, id, type }, ...stanza }: Element): boolean {
    if (this.#open === undefined || id !== this.#open.id || (type !== "result" && type !== "error")) return false
    if (stanza.name !== "iq" || from === undefined || Jid.bareOf(from) !== this.#domain) return false
    const { passed } = this.#open
    this.#open = undefined // first: whoever waits goes on at once, and opens the next one
    Deferred.doneUnsafe(passed, Effect.void)
    return true
  }
}
