import { Effect } from "effect"
import type { MemoryBudget, MemoryReservation } from "#domain/collections/MemoryBudget.ts"
import { ContentRoom } from "#domain/ports/ContentRoom.ts"
import { StoreError } from "#domain/ports/StoreError.ts"

/** A need for memory. */
export interface MemoryNeed {
  /** Needs with equal keys share a maximum, and wait in order. */
  readonly key: string
  readonly bytes: number
  readonly isForStrangers: boolean
}

/** Key of the memory of an account's responses, streams and answers. */
export const accountKey = (accountId: number): string => `account ${accountId}`

/** Runs `effect` as soon as the budget has room for its bytes, and returns the bytes afterwards. */
export const withRoom = <A, E, R>(
  budget: MemoryBudget,
  { bytes, isForStrangers, key }: MemoryNeed,
  effect: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const reservation = budget.reserve(key, isForStrangers)
    const run = reservation.tryGrow(bytes)
      ? effect
      : Effect.andThen(Effect.callback<void>((resume) => reservation.grow(bytes, () => resume(Effect.void))), effect)
    return Effect.ensuring(run, Effect.sync(() => reservation.release()))
  })

/** Time that a body or a response waits for room. A client's connection is not read meanwhile. */
const maxWait = "5 seconds"

/** Grows a reservation to `bytes`, at once or in turn. Fails with `refusal` after 5 s without room. */
export const growTo = <E>(reservation: MemoryReservation, bytes: number, refusal: E): Effect.Effect<void, E> => {
  const missing = bytes - reservation.bytes
  if (missing <= 0 || reservation.tryGrow(missing)) return Effect.void
  return Effect.callback<void>((resume) => reservation.grow(missing, () => resume(Effect.void))).pipe(
    Effect.timeoutOrElse({ duration: maxWait, orElse: () => Effect.fail(refusal) })
  )
}

/** Copies of stored content on its way to a client: as read, decoded, and rendered. */
const contentCopies = 3

/** The memory of the stored content that one request reads; to be released once. */
const makeContentRoom = (budget: MemoryBudget, key: string) => {
  let reservation: MemoryReservation | undefined
  return {
    reserve: (bytes: number): Effect.Effect<void, StoreError> =>
      Effect.suspend(() => {
        reservation ??= budget.reserve(key)
        return growTo(reservation, reservation.bytes + contentCopies * bytes, noRoom)
      }),
    release: (): void => reservation?.release()
  }
}

const noRoom = new StoreError({ reason: { _tag: "NoRoom", message: "The memory is full of large content." } })

/** Runs a request with room for its stored content, and returns the room afterwards. */
export const withContentRoom = <A, E, R>(
  budget: MemoryBudget,
  key: string,
  request: Effect.Effect<A, E, R>
): Effect.Effect<A, E, R> =>
  Effect.suspend(() => {
    const room = makeContentRoom(budget, key)
    return request.pipe(
      Effect.provideService(ContentRoom, room.reserve),
      Effect.ensuring(Effect.sync(() => room.release()))
    )
  })
