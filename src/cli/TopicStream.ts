import { Effect, Schedule, Stream } from "effect"
import { Sse } from "effect/encoding"
import { request } from "undici"
import { getAuthorization, getBaseUrl, RemoteError, type RemoteService } from "./RemoteService.ts"

/** A stream of one topic. */
export interface TopicStream {
  readonly service: RemoteService
  readonly topic: string
  readonly format: "atom" | "json"
  /** Maximum of past entries in the first event of a new stream. */
  readonly pastEntries: number
  /** Id of the event after which the stream begins; undefined for the present. */
  readonly after: string | undefined
  /** Runs before each connection but the first one. */
  readonly renew: Effect.Effect<void>
  /** Runs when an open connection was lost. */
  readonly onLost?: Effect.Effect<void>
}

/** An event, and whether its connection began without an event id. The first such event has past entries. */
export interface TopicEvent extends Sse.Event {
  readonly isFirst: boolean
}

/** Failed or broken stream. Status 0 stands for a lost connection. */
interface StreamFailure {
  readonly _tag: "StreamFailure"
  readonly status: number
  readonly message: string
}

/** Time without a byte after which the connection is dead, in ms. Heartbeats arrive every 15 s. */
const idleTimeoutMs = 60_000

const connectionLost = (): StreamFailure => ({
  _tag: "StreamFailure",
  status: 0,
  message: "The connection was lost."
})

const openStream = (
  { format, pastEntries, service, topic }: TopicStream,
  lastEventId: string | undefined,
  signal: AbortSignal
) => {
  const query = new URLSearchParams({
    "hub.mode": "retrieve",
    "hub.topic": topic,
    format,
    count: String(pastEntries)
  })
  return request(`${getBaseUrl(service)}/stream?${query}`, {
    signal,
    bodyTimeout: idleTimeoutMs,
    headers: {
      authorization: getAuthorization(service),
      accept: "text/event-stream",
      ...(lastEventId === undefined ? {} : { "last-event-id": lastEventId })
    }
  })
}

/**
 * Passes the events of a topic to `handle` for ever. Resumes a broken stream after its last handled event, without gaps or repetitions.
 *
 * An event counts as handled when `handle` has succeeded.
 */
export const followTopic = Effect.fnUntraced(function*<E, R>(
  stream: TopicStream,
  handle: (event: TopicEvent) => Effect.Effect<void, E, R>
) {
  const { onLost = Effect.void } = stream
  let lastEventId = stream.after
  const listen = Effect.gen(function*() {
    const { body, statusCode } = yield* Effect.tryPromise({
      try: (signal) => openStream(stream, lastEventId, signal),
      catch: connectionLost
    })
    if (statusCode !== 200) {
      const message = yield* Effect.tryPromise({ try: () => body.text(), catch: connectionLost })
      return yield* Effect.fail<StreamFailure>({ _tag: "StreamFailure", status: statusCode, message })
    }
    let isFirst = lastEventId === undefined
    yield* Stream.fromAsyncIterable(body as AsyncIterable<Uint8Array>, connectionLost).pipe(
      Stream.decodeText(),
      Stream.pipeThroughChannel(Sse.decode<StreamFailure, unknown>({ maxEventSize: Infinity })),
      Stream.mapError((error) => "status" in error ? error : connectionLost()),
      Stream.runForEach((event) =>
        Effect.tap(Effect.suspend(() => handle({ ...event, isFirst })), () =>
          Effect.sync(() => {
            isFirst = false
            lastEventId = event.id ?? lastEventId
          }))
      ),
      Effect.tap(() => onLost),
      Effect.tapError((error) => isStreamFailure(error) ? onLost : Effect.void)
    )
  })
  let wasOpened = false
  const reopen = Effect.suspend(() => wasOpened ? Effect.andThen(stream.renew, listen) : listen).pipe(
    Effect.ensuring(Effect.sync(() => wasOpened = true))
  )
  yield* reopen.pipe(
    Effect.catchIf(isStreamFailure, (failure) => {
      const { message, status } = failure
      return status === 0 || status === 429 || status >= 500
        ? Effect.void
        : Effect.fail(new RemoteError({ message: `${status}: ${message}` }))
    }),
    Effect.repeat(Schedule.spaced("2 seconds"))
  )
})

const isStreamFailure = (error: unknown): error is StreamFailure =>
  typeof error === "object" && error !== null && "_tag" in error && error._tag === "StreamFailure"
