import { Clock, Effect, Exit, Option, Schedule, Scope } from "effect"

/** Time without an answer of the server after which the owner looks for another runner, in ms. */
const maxCutOffMs = 15_000

/** Minimum time between two searches, in ms. While the server is down for all runners, each search fails. */
const searchSpacingMs = 15_000

/** Interval between two looks at the connection. A delegate drops the connection 6 s after the last look. */
const checkInterval = "1 second"

/** Time for a delegate to answer a look or a probe. */
const answerTimeout = "5 seconds"

/** Number of delegates. With fewer, all of them may be entities of the owner's runner. */
export const delegateCount = 16

/** Place of the connection: on the owner's runner, or at a delegate. */
export type Place<Connection> =
  | { readonly _tag: "Local"; readonly connection: Connection; readonly scope: Scope.Closeable }
  | { readonly _tag: "Delegate"; readonly number: number }

export interface Options<Connection, R> {
  /** Opens a connection on the owner's runner, until the scope closes. */
  readonly open: Effect.Effect<Connection, never, R | Scope.Scope>
  /** Time since which the server has not answered a connection, in ms. */
  readonly cutOffMs: (connection: Connection, now: number) => number
  /** True when the owner's runner reaches the server. */
  readonly probe: Effect.Effect<boolean>
  readonly delegates: {
    /** True when the delegate's runner reaches the server. */
    readonly probe: (number: number) => Effect.Effect<boolean>
    /** Time without an answer of the server, in ms; none when the delegate does not answer. */
    readonly hold: (number: number) => Effect.Effect<Option.Option<number>>
  }
}

interface Owner<Connection, R> {
  readonly options: Options<Connection, R>
  readonly scope: Scope.Scope
  place: Place<Connection>
  /** Time of the delegate's last answer, epoch ms. */
  answeredAt: number
  /** Earliest time of the next search, epoch ms. */
  searchesAt: number
}

/**
 * Opens the connection, and moves it to another runner while only the present runner is cut off from the server.
 *
 * The connection moves only to a runner whose probe the server has just answered. Returns the present place of the connection.
 */
export const make = Effect.fnUntraced(function*<Connection, R>(
  options: Options<Connection, R>
): Effect.fn.Return<() => Place<Connection>, never, R | Scope.Scope> {
  const scope = yield* Effect.scope
  const owner: Owner<Connection, R> = {
    options,
    scope,
    place: yield* openLocal(options, scope),
    answeredAt: 0,
    searchesAt: 0
  }
  yield* check(owner).pipe(Effect.repeat(Schedule.spaced(checkInterval)), Effect.forkScoped)
  return () => owner.place
})

const openLocal = Effect.fnUntraced(function*<Connection, R>({ open }: Options<Connection, R>, parent: Scope.Scope) {
  const scope = yield* Scope.fork(parent)
  const connection = yield* Effect.provideService(open, Scope.Scope, scope)
  return { _tag: "Local", connection, scope } as const
})

const check = Effect.fnUntraced(function*<Connection, R>(owner: Owner<Connection, R>) {
  const cutOffMs = yield* getCutOffMs(owner)
  const now = yield* Clock.currentTimeMillis
  if (cutOffMs < maxCutOffMs || now < owner.searchesAt) return
  const found = yield* findPlace(owner)
  owner.searchesAt = (yield* Clock.currentTimeMillis) + searchSpacingMs
  if (found !== undefined) yield* move(owner, found)
})

/** Time without an answer of the server, or of the delegate, in ms. */
const getCutOffMs = Effect.fnUntraced(function*<Connection, R>(owner: Owner<Connection, R>) {
  const { options, place } = owner
  if (place._tag === "Local") return options.cutOffMs(place.connection, yield* Clock.currentTimeMillis)
  const answer = yield* Effect.timeoutOption(options.delegates.hold(place.number), answerTimeout)
  const cutOffMs = Option.flatten(answer)
  const now = yield* Clock.currentTimeMillis
  if (Option.isNone(cutOffMs)) return now - owner.answeredAt
  owner.answeredAt = now
  return cutOffMs.value
})

/** Another place that reaches the server: the owner's runner first, then the delegates. */
const findPlace = Effect.fnUntraced(function*<Connection, R>({ options, place }: Owner<Connection, R>) {
  if (place._tag === "Delegate" && (yield* options.probe)) return "local" as const
  const current = place._tag === "Delegate" ? place.number : undefined
  const reached = yield* Effect.forEach(
    Array.from({ length: delegateCount }, (_, number) => number).filter((number) => number !== current),
    (number) =>
      options.delegates.probe(number).pipe(
        Effect.timeoutOption(answerTimeout),
        Effect.map((answer) => Option.contains(answer, true) ? number : undefined)
      ),
    { concurrency: "unbounded" }
  )
  return reached.find((number) => number !== undefined)
})

/** Closes the connection here before a delegate opens its own. A previous delegate drops its connection by itself. */
const move = Effect.fnUntraced(function*<Connection, R>(owner: Owner<Connection, R>, found: number | "local") {
  const { options, place, scope } = owner
  if (found === "local") {
    yield* Effect.logWarning(
      "XMPP: the runner that held the connection is cut off from the server; this runner connects"
    )
    owner.place = yield* openLocal(options, scope)
    return
  }
  yield* Effect.logWarning("XMPP: the server does not answer this runner, but another one; the other runner connects")
    .pipe(
      Effect.annotateLogs({ delegate: found })
    )
  if (place._tag === "Local") yield* Scope.close(place.scope, Exit.void)
  owner.answeredAt = yield* Clock.currentTimeMillis
  owner.place = { _tag: "Delegate", number: found }
})
