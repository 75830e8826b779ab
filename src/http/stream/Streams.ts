import { Context, Effect, Layer, Schedule, type Scope } from "effect"
import type { Caller } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type Refusal, refuse, Throttled, Unavailable } from "#domain/Refusal.ts"

/** Seconds between two heartbeats of a stream. */
const heartbeatSeconds = 15

/** How often it is looked whether those who listen still may. */
const rightsLooks = "15 seconds"

/**
 * A connection that is held open. What is to be done with it is set by whoever holds it; one object and one finalizer
 * for each of ten thousand.
 */
export class OpenStream {
  /** Called every 15 s. */
  beat: () => void = () => {}
  #end: (() => void) | undefined
  #over = false

  /** `end` is called when the service is about to stop, or the credential is not good for it any more; at once when that was before. */
  set onOver(end: () => void) {
    this.#end = end
    if (this.#over) end()
  }

  over(): void {
    this.#over = true
    this.#end?.()
  }
}

/** The connections that are held open: how many, their heartbeats, and their end. */
export class Streams extends Context.Service<Streams, {
  /** Takes a place for the scope; refused when the account, or the runner, has as many as it may. */
  readonly admit: (caller: Caller) => Effect.Effect<OpenStream, Refusal, Scope.Scope>
  /** The service is about to stop: streams end, so that nobody waits for them. */
  readonly close: Effect.Effect<void>
}>()("windhover/http/stream/Streams") {
  static readonly layer = Layer.effect(
    Streams,
    Effect.gen(function*() {
      const accounts = yield* AccountStore
      const { maxStreams, maxStreamsPerAccount } = yield* Settings
      const counts = new Map<number, number>()
      const open = new Map<string, Set<OpenStream>>()
      let closing = false
      let total = 0

      // A wheel: one timer for all, and each beat is the work of a fifteenth of them.
      const wheel = Array.from({ length: heartbeatSeconds }, () => new Set<OpenStream>())
      let turn = 0
      const slot = () => wheel[turn] ?? new Set<OpenStream>()
      yield* Effect.sync(() => {
        turn = (turn + 1) % heartbeatSeconds
        for (const place of slot()) place.beat()
      }).pipe(Effect.delay("1 second"), Effect.repeat(Schedule.forever), Effect.forkScoped)

      const enter = ({ account: { id }, credential }: Caller): Effect.Effect<Entered, Refusal> => {
        const mine = counts.get(id) ?? 0
        if (mine >= maxStreamsPerAccount) return Effect.fail(tooManyOfAccount(mine))
        if (total >= maxStreams) return Effect.fail(tooMany)
        counts.set(id, mine + 1)
        total++
        const place = new OpenStream()
        if (closing) place.over()
        const beats = slot()
        beats.add(place)
        let companions = open.get(credential)
        if (companions === undefined) open.set(credential, companions = new Set())
        companions.add(place)
        return Effect.succeed({ place, beats, companions })
      }

      const leave = ({ account: { id }, credential }: Caller, { beats, companions, place }: Entered) => {
        const mine = counts.get(id) ?? 1
        if (mine > 1) counts.set(id, mine - 1)
        else counts.delete(id)
        total--
        beats.delete(place)
        companions.delete(place)
        if (companions.size === 0 && open.get(credential) === companions) open.delete(credential)
      }

      /** A token that was revoked, or may not retrieve any more, and a password that was changed end what was opened with them. */
      const look = Effect.gen(function*() {
        if (open.size === 0) return
        const asked = [...open.keys()]
        const granted = yield* accounts.rightsOf(asked)
        for (const credential of asked) {
          if (granted.get(credential)?.has("retrieve") === true) continue
          for (const place of open.get(credential) ?? []) place.over()
        }
      })
      yield* look.pipe(
        Effect.catchTag("StoreError", (error) => Effect.logWarning(`who may listen is not known: ${error.message}`)),
        Effect.delay(rightsLooks),
        Effect.repeat(Schedule.forever),
        Effect.forkScoped
      )

      return Streams.of({
        admit: (caller) =>
          Effect.map(
            Effect.acquireRelease(
              Effect.suspend(() => enter(caller)),
              (entered) => Effect.sync(() => leave(caller, entered))
            ),
            ({ place }) => place
          ),
        close: Effect.sync(() => {
          closing = true
          for (const places of open.values()) for (const place of places) place.over()
        })
      })
    })
  )
}

/** A place, and where else it is known. */
interface Entered {
  readonly place: OpenStream
  readonly beats: Set<OpenStream>
  readonly companions: Set<OpenStream>
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
