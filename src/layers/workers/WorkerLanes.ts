import { Clock, Duration, Effect } from "effect"
import { FairQueue } from "#domain/limits/FairQueue.ts"
import type { StrangersTopic } from "#domain/limits/StrangerLedger.ts"
import type { WorkerTurn } from "#domain/poll/WorkerTurn.ts"
import { Precedence } from "#domain/ports/Precedence.ts"
import { StrangersLedger } from "#domain/ports/StrangersLedger.ts"
import { WorkerThread, type WorkerThreadOptions } from "./WorkerThread.ts"

/** Deadlines of strangers, as a multiple of those of accounts: their threads have a low priority on a busy machine. */
const patience = 3

/** Sends a request to the thread of a turn. Fails with a reason, the end of a sentence, after the deadline or when the thread ends. */
export type RequestThread<Request, Response> = WorkerThread<Request, Response>["request"]

/** Two threads of one script: one for accounts, and one of low priority for strangers. */
export interface WorkerLanes<Request, Response> {
  /** Runs `use` in a turn at its thread. */
  readonly run: <A, E>(
    turn: WorkerTurn,
    use: (request: RequestThread<Request, Response>) => Effect.Effect<A, E>
  ) => Effect.Effect<A, E>
  /** Counts the time of work for strangers that needs no thread. */
  readonly count: <A>(turn: WorkerTurn, work: () => A) => Effect.Effect<A>
}

/**
 * Makes the lanes of a script. A thread starts with its first request.
 *
 * Each request of strangers waits for its turn behind the accounts of the whole process, and the ledger counts its time.
 */
export const make = Effect.fnUntraced(function*<Request, Response>(
  options: Pick<WorkerThreadOptions, "script" | "name">
) {
  const clock = yield* Clock.Clock
  const ledger = yield* StrangersLedger
  const precedence = yield* Precedence
  const makeLane = (isForStrangers: boolean) =>
    Effect.map(
      Effect.acquireRelease(
        Effect.sync(() => new WorkerThread<Request, Response>({ ...options, hasLowPriority: isForStrangers })),
        (thread) => thread.stop
      ),
      (thread) => ({ thread, turns: new FairQueue(() => clock.currentTimeMillisUnsafe()) })
    )
  const forAccounts = yield* makeLane(false)
  const forStrangers = yield* makeLane(true)

  const record = (topic: StrangersTopic | undefined, startedAt: number): void => {
    const now = clock.currentTimeMillisUnsafe()
    if (topic !== undefined) ledger.recordReading(topic, now - startedAt, now)
  }

  const requestForStrangers =
    (topic: StrangersTopic | undefined): RequestThread<Request, Response> => (request, deadline, transfer) => {
      const timed = Effect.suspend(() => {
        const startedAt = clock.currentTimeMillisUnsafe()
        return Effect.ensuring(
          forStrangers.thread.request(request, Duration.times(Duration.fromInputUnsafe(deadline), patience), transfer),
          Effect.sync(() => record(topic, startedAt))
        )
      })
      return Effect.andThen(precedence.strangersTurn, timed)
    }

  return {
    run: ({ isForStrangers, key, topic }, use) =>
      isForStrangers
        ? forStrangers.turns.run(key, use(requestForStrangers(topic)))
        : forAccounts.turns.run(
          key,
          use((request, deadline, transfer) => forAccounts.thread.request(request, deadline, transfer))
        ),
    count: ({ topic }, work) =>
      Effect.sync(() => {
        const startedAt = performance.now()
        const result = work()
        if (topic !== undefined) {
          ledger.recordReading(topic, performance.now() - startedAt, clock.currentTimeMillisUnsafe())
        }
        return result
      })
  } satisfies WorkerLanes<Request, Response>
})
