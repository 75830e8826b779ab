import type { Element } from "@xmpp/xml"
import { Clock, Effect, Fiber, Latch, Metric, Option, Random, type Scope } from "effect"
import { xmppConnected } from "#actors/runtime/Metrics.ts"
import type { ComponentConfig } from "./ComponentConfig.ts"
import * as ComponentStream from "./ComponentStream.ts"
import { makeSendInParts } from "./DeliveryParts.ts"
import { maxStanzaBytes } from "./Notifications.ts"
import { OutgoingQueue, type SendResult, type StreamEnd } from "./OutgoingQueue.ts"
import { Receipts } from "./Receipts.ts"
import { countFailure, getReconnectWaitMs, logFailure, noOutage } from "./Reconnect.ts"

export interface Options extends ComponentConfig {
  /** Gets every stanza except the answers to the component's own pings; must not throw. */
  readonly onStanza: (stanza: Element) => void
  /** Called after the end of a connection; must not throw. */
  readonly onDisconnect?: () => void
  /**
   * Stores the results of a batch, and retries until the database has them. The batch after the next one waits for the end of this effect.
   *
   * After a crash, Windhover repeats messages without a stored result.
   */
  readonly flush?: Effect.Effect<void>
  /** Returns once this runner may connect. A runner that stood still must not take the name from the next owner. */
  readonly awaitLease?: Effect.Effect<void>
}

/** The component of an XMPP server (XEP-0114). Reconnects on its own until its scope closes. */
export interface Component {
  /**
   * Sends the messages of a delivery and returns the result. `id` stays the same over retries.
   *
   * The messages leave only while `isHeld` is true.
   */
  readonly deliver: (id: string, messages: ReadonlyArray<string>, isHeld?: () => boolean) => Effect.Effect<SendResult>
  /** Sends a reply, or drops the reply without a connection. Returns the problem, in words, of a reply that XML or the size limit forbids. */
  readonly reply: (stanza: string) => string | undefined
  /** Bytes of all stanzas that the server has not read yet. */
  readonly unreadBytes: () => number
  /** Bytes of replies that the server has not read yet. */
  readonly unreadReplyBytes: () => number
  /** Time without an answer of the server, in ms. 0 while connected, and while the server answers but rejects the component. */
  readonly cutOffMs: (now: number) => number
}

/** Time without work after which the component pings the server, in ms. */
const idleTimeoutMs = 30_000

/** Time without a server after which deliveries return to the outbox, in ms. */
const maxOfflineMs = 5_000

/** Lifetime of a connection that resets the reconnect waits, in ms. */
const stableAfterMs = 5_000

/** State of the component between two steps of its loop. */
interface Machine {
  readonly options: Options
  readonly scope: Scope.Scope
  readonly outgoing: OutgoingQueue
  readonly sendInParts: ReturnType<typeof makeSendInParts>
  readonly receipts: Receipts
  stream: ComponentStream.ComponentStream | undefined
  connectedAt: number
  /** Time of the last disconnect; undefined while a stream is open. */
  disconnectedAt: number | undefined
  /** Time since which the server does not answer; undefined while it does. */
  silentSince: number | undefined
  /** Time of the open ping; undefined when the server has answered all pings. */
  pingedAt: number | undefined
  /** Number of written replies, and of the replies that the server has read for sure. */
  replies: number
  confirmedReplies: number
  /** Stores the results of the batches before the last one. */
  flushing: Fiber.Fiber<void>
  /** True when the results of the last batch are not being stored yet. */
  needsFlush: boolean
}

/** Connects, and reconnects until the scope closes. */
export const make = Effect.fnUntraced(function*(
  options: Options
): Effect.fn.Return<Component, never, Scope.Scope> {
  const scope = yield* Effect.scope
  const outgoing = new OutgoingQueue(yield* Latch.make())
  yield* Effect.addFinalizer(() => Effect.sync(() => outgoing.close()))
  const machine: Machine = {
    options,
    scope,
    outgoing,
    sendInParts: makeSendInParts(outgoing),
    receipts: new Receipts(options),
    stream: undefined,
    connectedAt: 0,
    disconnectedAt: yield* Clock.currentTimeMillis,
    silentSince: yield* Clock.currentTimeMillis,
    pingedAt: undefined,
    replies: 0,
    confirmedReplies: 0,
    flushing: yield* Effect.forkIn(Effect.void, scope),
    needsFlush: false
  }
  yield* Effect.forkScoped(connectForever(machine))
  return {
    deliver: (id, messages, isHeld) => deliver(machine, id, messages, isHeld),
    reply: (stanza) => {
      const problem = findProblem(stanza)
      if (problem !== undefined) return problem
      machine.replies++
      machine.stream?.writeReply(stanza)
      return undefined
    },
    unreadBytes: () => machine.stream?.unreadBytes() ?? 0,
    unreadReplyBytes: () => machine.stream?.unreadReplyBytes() ?? 0,
    cutOffMs: (now) => machine.silentSince === undefined ? 0 : now - machine.silentSince
  }
})

const deliver = Effect.fnUntraced(
  function*(machine: Machine, id: string, messages: ReadonlyArray<string>, isHeld?: () => boolean) {
    const problem = messages.map(findProblem).find((one) => one !== undefined)
    if (problem !== undefined) {
      yield* Effect.logError("XMPP: a notification cannot be sent.").pipe(
        Effect.annotateLogs({ notification: id, reason: problem })
      )
      return "poison" as const
    }
    const now = yield* Clock.currentTimeMillis
    const { disconnectedAt, outgoing, sendInParts } = machine
    if (disconnectedAt !== undefined && now - disconnectedAt >= maxOfflineMs) return "unavailable" as const
    return yield* messages.length === 1 ? outgoing.send(id, messages, now, isHeld) : sendInParts(id, messages, isHeld)
  }
)

const connectForever = Effect.fnUntraced(function*(machine: Machine): Effect.fn.Return<never> {
  const { awaitLease = Effect.void } = machine.options
  let outage = noOutage
  while (true) {
    yield* awaitLease
    const error = yield* Effect.flip(runConnection(machine))
    outage = countFailure((yield* disconnect(machine, error)) ? noOutage : outage, error)
    const waitMs = getReconnectWaitMs(error, outage)
    yield* logFailure(error, machine.options, outage)
    if (waitMs > maxOfflineMs) machine.outgoing.failWaiting()
    yield* Effect.sleep(waitMs * (0.8 + 0.4 * (yield* Random.next)))
  }
})

/** Connects and sends batches until the stream ends. */
const runConnection = (machine: Machine): Effect.Effect<never, ComponentStream.StreamError> =>
  Effect.gen(function*() {
    const { options, receipts } = machine
    const stream = yield* ComponentStream.open(options, (stanza) => {
      if (!receipts.accept(stanza)) options.onStanza(stanza)
    })
    yield* Effect.raceFirst(receipts.write(stream, ""), stream.ended)
    machine.stream = stream
    machine.confirmedReplies = machine.replies
    machine.connectedAt = yield* Clock.currentTimeMillis
    machine.disconnectedAt = undefined
    machine.silentSince = undefined
    yield* Metric.update(xmppConnected, 1)
    const { component, host, port } = options
    yield* Effect.annotateLogs(Effect.logInfo("XMPP: the component is connected."), { component, host, port })
    return yield* Effect.raceFirst(sendBatches(machine, stream), stream.ended)
  }).pipe(
    Effect.scoped,
    Effect.catchDefect((defect) =>
      Effect.andThen(
        Effect.logError("XMPP: the component crashed and reconnects", defect),
        Effect.fail(ComponentStream.closed("a crash"))
      )
    )
  )

/**
 * Sends batches, each after the receipt of the one before. Without work, sends only a ping every 30 s.
 *
 * While deliveries wait, the next batch leaves before the senders of the last one resume, so that the server reads while they work.
 */
const sendBatches = Effect.fnUntraced(
  function*(
    machine: Machine,
    stream: ComponentStream.ComponentStream
  ): Effect.fn.Return<never, ComponentStream.StreamError> {
    const { options: { flush = Effect.void }, outgoing, scope } = machine
    const clock = yield* Clock.Clock
    while (true) {
      if (!outgoing.hasWork || !hasFlushed(machine)) {
        outgoing.accept()()
        if (machine.needsFlush) yield* flushResults(machine, stream)
        yield* Effect.timeoutOption(outgoing.awaitWork, idleTimeoutMs)
      }
      const report = outgoing.accept()
      const receipt = writePing(machine, stream, outgoing.takeBatch().join(""), clock)
      report()
      if (machine.needsFlush) {
        yield* Effect.yieldNow // the senders report their results
        machine.flushing = yield* Effect.forkIn(flush, scope)
      }
      yield* receipt
      machine.needsFlush = true
    }
  }
)

/** True when the results of the batches before the last one are stored. */
const hasFlushed = ({ flushing }: Machine): boolean => flushing.pollUnsafe() !== undefined

/**
 * Stores the results of the last batch, after the results of the batches before. Starts when the senders have reported their results.
 *
 * Pings the server every 30 s while the database is unavailable.
 */
const flushResults = Effect.fnUntraced(function*(machine: Machine, stream: ComponentStream.ComponentStream) {
  const { options: { flush = Effect.void }, scope } = machine
  const clock = yield* Clock.Clock
  while (!hasFlushed(machine)) {
    const flushed = yield* Effect.timeoutOption(Fiber.await(machine.flushing), idleTimeoutMs)
    if (Option.isNone(flushed)) yield* writePing(machine, stream, "", clock)
  }
  machine.flushing = yield* Effect.forkIn(flush, scope)
  machine.needsFlush = false
})

/** Writes `text` and a ping. Returns the wait for the answer. */
const writePing = (machine: Machine, stream: ComponentStream.ComponentStream, text: string, clock: Clock.Clock) => {
  const { receipts, replies } = machine
  machine.pingedAt = clock.currentTimeMillisUnsafe()
  return Effect.map(receipts.write(stream, text), () => {
    machine.pingedAt = undefined
    machine.confirmedReplies = replies
  })
}

/** Resets the state after the end of a connection. Returns true when the connection was stable. */
const disconnect = Effect.fnUntraced(function*(machine: Machine, error: ComponentStream.StreamError) {
  const { options, outgoing } = machine
  const now = yield* Clock.currentTimeMillis
  const wasStable = machine.stream !== undefined && now - machine.connectedAt >= stableAfterMs
  const isSilent = error.reason._tag === "Unreachable" || error.reason._tag === "Closed"
  machine.silentSince = isSilent ? machine.silentSince ?? machine.pingedAt ?? now : undefined
  machine.pingedAt = undefined
  machine.stream = undefined
  machine.disconnectedAt ??= now
  options.onDisconnect?.()
  yield* Metric.update(xmppConnected, 0)
  const end = machine.replies > machine.confirmedReplies ? "lost" : getStreamEnd(error) // an error may be about a reply
  for (const id of outgoing.requeue(end, now)) {
    yield* Effect.logError("XMPP: the server closed the stream again for a notification, which is dropped.").pipe(
      Effect.annotateLogs({ notification: id })
    )
  }
  if (now - machine.disconnectedAt >= maxOfflineMs) outgoing.failWaiting()
  return wasStable
})

const getStreamEnd = ({ reason: { _tag } }: ComponentStream.StreamError): StreamEnd =>
  _tag === "StanzaRejected" ? "rejected" : _tag === "PolicyViolated" ? "policy" : "lost"

/** XML 1.0 has no other characters. A server closes the stream at an unknown character. */
const illegalCharacter = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u

/** Returns the reason, in words, why a stanza cannot be sent. Last check before the socket: every stanza passes through here. */
const findProblem = (stanza: string): string | undefined => {
  if (illegalCharacter.test(stanza)) return "it holds a character that XML does not allow"
  const size = Buffer.byteLength(stanza)
  return size > maxStanzaBytes ? `it has ${size} bytes; at most ${maxStanzaBytes} are sent` : undefined
}
