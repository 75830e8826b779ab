import { Cause, Context, Effect, FiberSet, Latch, Layer, Schedule, type Scope } from "effect"
import { NotificationLog, type NumberedNotification } from "#domain/ports/NotificationLog.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { whenAvailable } from "#actors/runtime/StoreRetry.ts"

/**
 * One who hears what is told of some resources, in order of sequence. The functions are called by the fan-out; they return at once.
 */
export interface Listener {
  /** Sequence of the last notification that it has, by resource; moved before `take` and `missed` are called. */
  readonly cursors: Map<number, number>
  /** Takes the next one; false when no more can be taken for the moment. */
  readonly take: (numbered: NumberedNotification) => boolean
  /** So many notifications of a resource are not kept any more. */
  readonly missed: (resourceId: number, count: number) => void
  /** It can be served no longer, and hears nothing from now on. */
  readonly fail: () => void
}

/** Notifications that are read at once for one listener, or for all that have heard the same. */
const pageSize = 20

/** Listeners that are served in one go, before others have their turn. */
const share = 500

/** Resources whose heads are asked for at once. */
const headsAtOnce = 5_000

/** Milliseconds between two looks for what nobody told: another runner has written it. One that is alone is told of everything. */
const sweepSpacing = { alone: 5_000, several: 400 }

/** A listener in its place: what the fan-out has to know of it. */
interface ListenerState {
  readonly listener: Listener
  /** It takes nothing for the moment. */
  paused: boolean
  /** It has fallen behind, and a fiber of its own reads for it. */
  catching: boolean
  left: boolean
}

/** A resource that somebody listens to. */
interface ResourceStream {
  readonly id: number
  /** Sequence of the last notification that was handed around. */
  head: number
  readonly seats: Set<ListenerState>
  /** There may be more than was read. */
  told: boolean
  reading: boolean
}

/**
 * Everybody on this runner who listens instead of being called.
 *
 * The truth is the log in the database: a listener is a cursor in it. What wakes the reading is only a hint: an actor of this runner
 * that has recorded something (`tell`), and a look at the heads of all resources that are listened to, since the actor may be on
 * another runner, or dead. So nothing is lost or doubled when a partition moves.
 */
export class Listeners extends Context.Service<Listeners, {
  /** There is something new of a resource. */
  readonly tell: (resourceId: number) => Effect.Effect<void>
  /**
   * From now until the scope ends the listener hears what comes behind its cursors. Returns what is to be called when it takes again
   * after it could not.
   */
  readonly listen: (listener: Listener) => Effect.Effect<() => void, never, Scope.Scope>
}>()("windhover/actors/operations/Listeners") {
  static readonly layer = Layer.effect(
    Listeners,
    Effect.gen(function*() {
      const log = yield* NotificationLog
      const { runnerAddress } = yield* Settings
      const run = yield* FiberSet.makeRuntime<never>()
      const rooms = new Map<number, ResourceStream>()
      const somebody = Latch.makeUnsafe() // listens

      const page = (room: ResourceStream, sequence: number) => whenAvailable(log.readAfter(room.id, sequence, pageSize))

      /** Hands around what is behind the head, to all that have heard everything before it. */
      const read = Effect.fnUntraced(function*(room: ResourceStream) {
        while (room.told && room.seats.size > 0) {
          room.told = false
          const news = yield* page(room, room.head)
          for (const numbered of news) {
            room.head = numbered.sequence
            let served = 0
            for (const seat of room.seats) {
              hand(seat, room, numbered)
              if (++served % share === 0) yield* Effect.yieldNow
            }
          }
          if (news.length === pageSize) room.told = true
        }
        room.reading = false // here, in one step with the last look: later, who wakes it would be overheard
      })

      const wake = (room: ResourceStream) => {
        room.told = true
        if (room.reading) return
        room.reading = true
        run(guarded(read(room), room.seats))
      }

      /** Reads for one that is behind, until it has heard what all have, or takes no more. */
      const catchUp = Effect.fnUntraced(function*(seat: ListenerState) {
        for (let room = behind(seat); room !== undefined; room = behind(seat)) {
          const { head } = room
          const news = yield* page(room, cursor(seat, room))
          for (const numbered of news) {
            if (!seat.paused) give(seat, room, numbered)
          }
          // what was told before the question, and is not in its answer, is gone
          if (news.length === 0) skip(seat, room, head)
        }
        seat.catching = false // in one step with the last look, too
      })

      /** A room that has heard more than this listener. */
      const behind = (seat: ListenerState): ResourceStream | undefined => {
        if (seat.paused || seat.left) return undefined
        for (const id of seat.listener.cursors.keys()) {
          const room = rooms.get(id)
          if (room !== undefined && cursor(seat, room) < room.head) return room
        }
        return undefined
      }

      const follow = (seat: ListenerState) => {
        if (seat.catching || behind(seat) === undefined) return
        seat.catching = true
        run(guarded(catchUp(seat), [seat]))
      }

      const remove = (seat: ListenerState) => {
        seat.left = true
        for (const id of seat.listener.cursors.keys()) {
          const room = rooms.get(id)
          if (room?.seats.delete(seat) === true && room.seats.size === 0) rooms.delete(id)
        }
        if (rooms.size === 0) somebody.closeUnsafe()
      }

      /** What cannot be read fails those who wait for it: they come again, or give up, and do not wait for ever. */
      const guarded = (reading: Effect.Effect<void>, waiting: Iterable<ListenerState>) =>
        Effect.catchCause(reading, (cause) =>
          Cause.hasInterruptsOnly(cause) ? Effect.void : Effect.andThen(
            Effect.logError("notifications could not be read for those who listen", cause),
            Effect.sync(() => {
              for (const seat of waiting) {
                remove(seat)
                seat.listener.fail()
              }
            })
          ))

      const listen = Effect.fnUntraced(function*(listener: Listener) {
        const unheard = [...listener.cursors.keys()].filter((id) => !rooms.has(id))
        const read = yield* whenAvailable(log.heads(unheard))
        const heads = new Map(unheard.map((id, i) => [id, read[i] ?? 0]))
        const seat: ListenerState = { listener, paused: false, catching: false, left: false }
        yield* Effect.acquireRelease(
          Effect.sync(() => {
            for (const [id, heard] of listener.cursors) {
              const room = rooms.get(id)
              if (room !== undefined) room.seats.add(seat)
              else open(id, heads.get(id) ?? heard, seat)
            }
            follow(seat)
          }),
          () => Effect.sync(() => remove(seat))
        )
        return () => {
          seat.paused = false
          follow(seat)
        }
      })

      const open = (id: number, head: number, seat: ListenerState) => {
        const room: ResourceStream = { id, head, seats: new Set([seat]), told: false, reading: false }
        rooms.set(id, room)
        somebody.openUnsafe()
        wake(room) // something may have been told since its head was read
      }

      const sweep = Effect.gen(function*() {
        const ids = [...rooms.keys()]
        for (let at = 0; at < ids.length; at += headsAtOnce) {
          const some = ids.slice(at, at + headsAtOnce)
          const heads = yield* log.heads(some)
          some.forEach((id, i) => {
            const room = rooms.get(id)
            if (room !== undefined && (heads[i] ?? 0) > room.head) wake(room)
          })
        }
      })

      yield* somebody.whenOpen(sweep).pipe(
        Effect.catchTag("StoreError", (error) => Effect.logWarning(`those who listen have to wait: ${error.message}`)),
        Effect.repeat(Schedule.spaced(runnerAddress === undefined ? sweepSpacing.alone : sweepSpacing.several)),
        Effect.forkScoped
      )

      return Listeners.of({
        tell: (resourceId) =>
          Effect.sync(() => {
            const room = rooms.get(resourceId)
            if (room !== undefined) wake(room)
          }),
        listen
      })
    })
  )
}

const cursor = ({ listener }: ListenerState, { id }: ResourceStream): number => listener.cursors.get(id) ?? 0

/** To one of many: who is behind, or takes nothing now, reads by itself later. */
const hand = (seat: ListenerState, room: ResourceStream, numbered: NumberedNotification): void => {
  if (!seat.paused && !seat.catching) give(seat, room, numbered)
}

const give = (seat: ListenerState, room: ResourceStream, numbered: NumberedNotification): void => {
  const { sequence } = numbered
  if (cursor(seat, room) >= sequence) return
  skip(seat, room, sequence - 1)
  seat.listener.cursors.set(room.id, sequence)
  seat.paused = !seat.listener.take(numbered)
}

/** Sequences have no gaps: what is missing in front of `until` is not kept any more. */
const skip = (seat: ListenerState, room: ResourceStream, until: number): void => {
  const count = until - cursor(seat, room)
  if (count <= 0) return
  seat.listener.cursors.set(room.id, until)
  seat.listener.missed(room.id, count)
}
