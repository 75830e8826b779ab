import { Context, Deferred, Effect, Layer, Schedule, type Scope } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import { type Refusal, refuse, Throttled, Unavailable } from "#domain/Refusal.ts"

/** Seconds between two heartbeats of a stream. */
const heartbeatSeconds = 15

/** The connections that are held open: how many, their heartbeats, and their end. */
export class Streams extends Context.Service<Streams, {
  /** Takes a place for the scope; refused when the account, or the runner, has as many as it may. */
  readonly admit: (accountId: number) => Effect.Effect<void, Refusal, Scope.Scope>
  /** Calls `beat` every 15 s, for the scope. */
  readonly pulse: (beat: () => void) => Effect.Effect<void, never, Scope.Scope>
  /** Done when the service is about to stop: streams are to end, so that nobody waits for them. */
  readonly closing: Effect.Effect<void>
  readonly close: Effect.Effect<void>
}>()("windhover/http/Streams") {
  static readonly layer = Layer.effect(
    Streams,
    Effect.gen(function*() {
      const { maxStreams, maxStreamsPerAccount } = yield* Settings
      const open = new Map<number, number>()
      const closing = yield* Deferred.make<void>()
      let total = 0

      const enter = (accountId: number): Effect.Effect<void, Refusal> => {
        const mine = open.get(accountId) ?? 0
        if (mine >= maxStreamsPerAccount) return Effect.fail(tooManyOfAccount(mine))
        if (total >= maxStreams) return Effect.fail(tooMany)
        open.set(accountId, mine + 1)
        total++
        return Effect.void
      }
      const leave = (accountId: number) => {
        const mine = open.get(accountId) ?? 1
        if (mine > 1) open.set(accountId, mine - 1)
        else open.delete(accountId)
        total--
      }

      // A wheel: one timer for all, and each beat is the work of a fifteenth of them.
      const wheel = Array.from({ length: heartbeatSeconds }, () => new Set<() => void>())
      let turn = 0
      const slot = () => wheel[turn] ?? new Set()
      yield* Effect.sync(() => {
        turn = (turn + 1) % heartbeatSeconds
        for (const beat of slot()) beat()
      }).pipe(Effect.delay("1 second"), Effect.repeat(Schedule.forever), Effect.forkScoped)

      return Streams.of({
        admit: (accountId) =>
          Effect.acquireRelease(
            Effect.suspend(() => enter(accountId)),
            () => Effect.sync(() => leave(accountId))
          ),
        pulse: (beat) =>
          Effect.suspend(() => {
            const mine = slot()
            return Effect.acquireRelease(
              Effect.sync(() => void mine.add(beat)),
              () => Effect.sync(() => void mine.delete(beat))
            )
          }),
        closing: Deferred.await(closing),
        close: Effect.asVoid(Deferred.succeed(closing, undefined))
      })
    })
  )
}

const tooManyOfAccount = (open: number) =>
  refuse(
    new Throttled({
      message: `This account has ${open} streams and polls open, which is as many as it may have; close some of them.`,
      retryAfter: 30
    })
  )

const tooMany = refuse(
  new Unavailable({
    message: "No more streams can be held open here for the moment. Please try again.",
    retryAfter: 30
  })
)
