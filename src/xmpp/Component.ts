import type { Element } from "@xmpp/xml"
import { Clock, Effect, Fiber, Latch, Metric, Random, type Scope } from "effect"
import type { ComponentConfig } from "./ComponentConfig.ts"
import * as ComponentStream from "./ComponentStream.ts"
import { maxStanzaBytes } from "./Notifications.ts"
import { OutgoingQueue, type SendResult } from "./OutgoingQueue.ts"
import { Receipts } from "./Receipts.ts"
import { getReconnectWaitMs, logFailure } from "./Reconnect.ts"

export interface Options extends ComponentConfig {
  /** Gets every stanza except the answers to the component's own pings; must not throw. */
  readonly onStanza: (stanza: Element) => void
  /** Called after the end of a connection; must not throw. */
  readonly onDisconnect?: () => void
  /**
   * Stores the results of a batch. The batch after the next one waits for the end of this effect.
   *
   * After a crash, Windhover repeats messages without a stored result.
   */
  readonly flush?: Effect.Effect<void>
}

/** The component of an XMPP server (XEP-0114). Reconnects on its own until its scope closes. */
export interface Component {
  /** Sends the messages of a delivery and returns the result. `id` stays the same over retries. */
  readonly deliver: (id: string, messages: ReadonlyArray<string>) => Effect.Effect<SendResult>
  /** Sends a reply, or drops the reply without a connection. Returns the problem, in words, of a reply that XML or the size limit forbids. */
  readonly reply: (stanza: string) => string | undefined
  /** Bytes of all stanzas that the server has not read yet. */
  readonly unreadBytes: () => number
  /** Bytes of replies that the server has not read yet. */
  readonly unreadReplyBytes: () => number
}

/** Time without work after which the component pings the server, in ms. */
const idleTimeoutMs = 30_000

/** Time without a server after which deliveries return to the outbox, in ms. */
const maxOfflineMs = 5_000

/** Lifetime of a connection that resets the reconnect waits, in ms. */
const stableAfterMs = 5_000

const connectedGauge = Metric.gauge("windhover_xmpp_connected", {
  description: "1 while the component has a stream to its XMPP server"
})

/** State of the component between two steps of its loop. */
interface Machine {
  readonly options: Options
  readonly scope: Scope.Scope
  readonly outgoing: OutgoingQueue
  readonly receipts: Receipts
  stream: ComponentStream.ComponentStream | undefined
  connectedAt: number
  /** Time of the last disconnect; undefined while a stream is open. */
  disconnectedAt: number | undefined
  /** Stores the results of the batch before the current one. */
  flushing: Fiber.Fiber<void>
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
    receipts: new Receipts(options),
    stream: undefined,
    connectedAt: 0,
    disconnectedAt: yield* Clock.currentTimeMillis,
    flushing: yield* Effect.forkIn(Effect.void, scope)
  }
  yield* Effect.forkScoped(connectForever(machine))
  return {
    deliver: (id, messages) => deliver(machine, id, messages),
    reply: (stanza) => {
      const problem = findProblem(stanza)
      if (problem === undefined) machine.stream?.writeReply(stanza)
      return problem
    },
    unreadBytes: () => machine.stream?.unreadBytes() ?? 0,
    unreadReplyBytes: () => machine.stream?.unreadReplyBytes() ?? 0
  }
})

const deliver = Effect.fnUntraced(
  function*(machine: Machine, id: string, messages: ReadonlyArray<string>) {
    const problem = messages.map(findProblem).find((one) => one !== undefined)
    if (problem !== undefined) {
      yield* Effect.logError(`XMPP: the notification ${id} is not sent: ${problem}`)
      return "poison" as const
    }
    const now = yield* Clock.currentTimeMillis
    const { disconnectedAt, outgoing } = machine
    if (disconnectedAt !== undefined && now - disconnectedAt >= maxOfflineMs) return "unavailable" as const
    return yield* outgoing.send(id, messages)
  }
)

const connectForever = Effect.fnUntraced(function*(machine: Machine): Effect.fn.Return<never> {
  let failures = 0
  while (true) {
    const error = yield* Effect.flip(runConnection(machine))
    failures = (yield* disconnect(machine, error)) ? 0 : failures + 1
    const waitMs = getReconnectWaitMs(error, failures)
    yield* logFailure(error, machine.options, failures)
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
    yield* Effect.raceFirst(receipts.writeAndAwait(stream, ""), stream.ended)
    machine.stream = stream
    machine.connectedAt = yield* Clock.currentTimeMillis
    machine.disconnectedAt = undefined
    yield* Metric.update(connectedGauge, 1)
    yield* Effect.logInfo(`XMPP: ${options.component} is connected to ${options.host}:${options.port}`)
    return yield* Effect.raceFirst(Effect.forever(sendBatch(machine, stream)), stream.ended)
  }).pipe(
    Effect.scoped,
    Effect.catchDefect((defect) =>
      Effect.andThen(
        Effect.logError("XMPP: the component crashed and reconnects", defect),
        Effect.fail(ComponentStream.closed("a crash"))
      )
    )
  )

/** Sends a batch and awaits its receipt. Without work, sends only a ping every 30 s. */
const sendBatch = Effect.fnUntraced(function*(machine: Machine, stream: ComponentStream.ComponentStream) {
  const { options: { flush = Effect.void }, outgoing, receipts, scope } = machine
  yield* Effect.timeoutOption(outgoing.awaitWork, idleTimeoutMs)
  yield* receipts.writeAndAwait(stream, outgoing.takeBatch().join(""))
  outgoing.confirm()
  yield* Fiber.await(machine.flushing)
  machine.flushing = yield* Effect.forkIn(flush, scope) // starts after the senders of the batch have reported their results
})

/** Resets the state after the end of a connection. Returns true when the connection was stable. */
const disconnect = Effect.fnUntraced(function*(machine: Machine, error: ComponentStream.StreamError) {
  const { options, outgoing } = machine
  const now = yield* Clock.currentTimeMillis
  const wasStable = machine.stream !== undefined && now - machine.connectedAt >= stableAfterMs
  machine.stream = undefined
  machine.disconnectedAt ??= now
  options.onDisconnect?.()
  yield* Metric.update(connectedGauge, 0)
  for (const id of outgoing.requeue(error.reason._tag === "StanzaRejected")) {
    yield* Effect.logError(`XMPP: the notification ${id} closed the stream again and is dropped`)
  }
  if (now - machine.disconnectedAt >= maxOfflineMs) outgoing.failWaiting()
  return wasStable
})

/** XML 1.0 has no other characters. A server closes the stream at an unknown character. */
const illegalCharacter = /[^\t\n\r\u{20}-\u{d7ff}\u{e000}-\u{fffd}\u{10000}-\u{10ffff}]/u

/** Returns the reason, in words, why a stanza cannot be sent. Last check before the socket: every stanza passes through here. */
const findProblem = (stanza: string): string | undefined => {
  if (illegalCharacter.test(stanza)) return "it holds a character that XML does not allow"
  const size = Buffer.byteLength(stanza)
  return size > maxStanzaBytes ? `it has ${size} bytes; at most ${maxStanzaBytes} are sent` : undefined
}
