import { Clock, type Context, Effect, Exit, Latch, Option } from "effect"
import type { StoreError } from "#domain/ports/StoreError.ts"

interface BatchOptions<In, Out> {
  /** Milliseconds that the first caller waits for further callers; 0 by default: callers of the same event-loop turn share a statement. */
  readonly gatheringMs?: number
  /** How long a caller waits for company. Of the callers of a statement, the most urgent one decides. Not with `gatheringMs`. */
  readonly spacing?: (input: In) => Spacing
  /** Maximum of running statements; 2 by default, so that the next one is sent while the server runs the first. */
  readonly concurrency?: number
  /** Maximum of callers per statement. */
  readonly maxInputs: number
  /** One statement for all inputs. The outputs are in the order of the inputs. */
  readonly run: (inputs: ReadonlyArray<In>) => Effect.Effect<ReadonlyArray<Out>, StoreError>
}

/**
 * Minimum time between the starts of two statements: `msPerInput` for each caller of the last one, at most `maxMs`.
 *
 * So a caller hardly waits while there are fewer than one per `msPerInput`. From there on, the statements grow until they are `maxMs` apart.
 * A full statement does not wait.
 */
export interface Spacing {
  readonly msPerInput: number
  readonly maxMs: number
}

/** For callers that do not wait for company. */
export const noSpacing: Spacing = { msPerInput: 0, maxMs: 0 }

interface Waiter<In, Out> {
  readonly input: In
  readonly resume: (exit: Exit.Exit<Out, StoreError>) => void
}

/**
 * Runs one statement for all callers that arrive while earlier statements run: a group commit.
 *
 * A caller of an idle batch does not wait, unless it may (`spacing`). More callers, and a slower database, make larger statements, because
 * a statement costs more than many of its rows.
 *
 * An unavailable database fails all callers of a statement. After a defect each input runs alone, so that bad data fails only its own caller.
 *
 * Effect's `RequestResolver` reuses its Sets for all batches. In the old generation, the former tables of a Set keep
 * deleted requests alive (docs/decisions/0015), together with the documents behind their strings. Hence this implementation.
 */
export const batched = <In, Out>(
  { concurrency = 2, gatheringMs = 0, maxInputs, run, spacing }: BatchOptions<In, Out>
) => {
  const runFor = runForCallers(run)

  let running = 0
  const free = Latch.makeUnsafe(true)
  const countRunning = <A>(statement: Effect.Effect<A>) =>
    Effect.suspend(() => {
      if (++running >= concurrency) free.closeUnsafe()
      return statement
    }).pipe(
      Effect.onExit(() => Effect.sync(() => --running < concurrency && free.openUnsafe()))
    )

  /** The callers of the next statement; undefined without callers. */
  let waiting: Array<Waiter<In, Out>> | undefined

  const pacer = spacing === undefined ? undefined : makePacer(spacing, maxInputs)
  const gather = (first: In) =>
    gatheringMs > 0 ? Effect.sleep(gatheringMs) : pacer === undefined ? Effect.yieldNow : pacer.wait(first)
  const runNext = (first: In) =>
    Effect.andThen(
      Effect.andThen(gather(first), free.await),
      Effect.suspend(() => {
        const callers = waiting ?? []
        waiting = undefined
        if (callers.length === 0) return Effect.void
        const statements = countRunning(Effect.forEach(chunksOf(callers, maxInputs), runFor, { discard: true }))
        return pacer === undefined ? statements : Effect.andThen(pacer.noteStart(callers.length), statements)
      })
    )
  return (input: In): Effect.Effect<Out, StoreError> =>
    Effect.contextWith((context: Context.Context<never>) =>
      Effect.callback<Out, StoreError>((resume) => {
        const caller: Waiter<In, Out> = { input, resume }
        if (waiting === undefined) {
          waiting = [caller]
          Effect.runForkWith(context)(runNext(input))
        } else {
          waiting.push(caller)
          pacer?.noteCaller(input, waiting.length)
        }
        return Effect.sync(() => {
          const at = waiting?.indexOf(caller) ?? -1
          if (at >= 0) waiting?.splice(at, 1)
        })
      })
    )
}

/** Keeps the starts of statements apart. */
const makePacer = <In>(spacingOf: (input: In) => Spacing, maxInputs: number) => {
  let startedAt = -Infinity
  /** Number of callers of the last statement. */
  let inputs = 0
  /** Latest start of the next statement, in epoch ms. */
  let dueAt = -Infinity
  const hurried = Latch.makeUnsafe(false)
  const dueFor = (input: In) => {
    const { maxMs, msPerInput } = spacingOf(input)
    return startedAt + Math.min(inputs * msPerInput, maxMs)
  }
  const isDue = (now: number) => now >= dueAt || now < startedAt // the clock may be set back
  const waitUntilDue = (now: number): Effect.Effect<void> => {
    hurried.closeUnsafe()
    return Effect.flatMap(
      Effect.timeoutOption(hurried.await, dueAt - now),
      (hurry) => Option.isSome(hurry) ? waitIfNotDue : Effect.void
    )
  }
  const waitIfNotDue = Effect.flatMap(
    Clock.currentTimeMillis,
    (now) => isDue(now) ? Effect.void : waitUntilDue(now)
  )
  return {
    wait: (first: In) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        dueAt = dueFor(first)
        return isDue(now) ? Effect.yieldNow : waitUntilDue(now)
      }),
    /** Shortens the wait under way when the new caller may wait less, and ends it when the statement is full. */
    noteCaller: (input: In, callers: number) => {
      const due = callers >= maxInputs ? -Infinity : dueFor(input)
      if (due >= dueAt) return
      dueAt = due
      hurried.openUnsafe()
    },
    noteStart: (callers: number) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        startedAt = now
        inputs = callers
      })
  }
}

interface SharedReadOptions<In, Out> extends BatchOptions<In, Out> {
  /** Equal inputs have equal keys. */
  readonly keyOf: (input: In) => string
}

/**
 * A batch whose callers with equal inputs share one output, so that the output must be immutable.
 *
 * A caller joins only a statement that has not started, and therefore sees every earlier write.
 */
export const sharedReads = <In, Out>({ keyOf, run, ...options }: SharedReadOptions<In, Out>) =>
  batched<In, Out>({
    ...options,
    run: Effect.fnUntraced(function*(inputs) {
      const distinct = new Map(inputs.map((input) => [keyOf(input), input]))
      const outputs = yield* run([...distinct.values()])
      const byKey = new Map([...distinct.keys()].map((key, i) => [key, outputs.slice(i, i + 1)]))
      return inputs.flatMap((input) => byKey.get(keyOf(input)) ?? [])
    })
  })

/** The rows of each input of a statement. `position` is the number of the input in `with ordinality`, from 1. */
export const rowsOfInputs = <Row extends { readonly position: number }>(
  rows: ReadonlyArray<Row>,
  inputs: ReadonlyArray<unknown>
): ReadonlyArray<ReadonlyArray<Row>> => {
  const byPosition = Map.groupBy(rows, ({ position }) => position)
  return inputs.map((_, i) => byPosition.get(i + 1) ?? [])
}

/** Runs one statement, and resumes its callers with their outputs or the failure. */
const runForCallers = <In, Out>(run: BatchOptions<In, Out>["run"]) => {
  const runFor = (callers: ReadonlyArray<Waiter<In, Out>>): Effect.Effect<void> =>
    run(callers.map(({ input }) => input)).pipe(
      Effect.matchEffect({
        onSuccess: (outputs) => Effect.sync(() => callers.forEach((caller, i) => succeed(caller, outputs[i]))),
        onFailure: (error) =>
          error.reason._tag === "Defect" && callers.length > 1
            ? Effect.forEach(callers, (caller) => runFor([caller]), { discard: true })
            : failAll(callers, Exit.fail(error))
      }),
      Effect.catchCause((cause) => failAll(callers, Exit.failCause(cause)))
    )
  const succeed = ({ resume }: Waiter<In, Out>, output: Out | undefined) =>
    resume(
      output === undefined
        ? Exit.die(new Error("A batch returned fewer outputs than it had inputs."))
        : Exit.succeed(output)
    )
  const failAll = (callers: ReadonlyArray<Waiter<In, Out>>, exit: Exit.Exit<Out, StoreError>) =>
    Effect.sync(() => callers.forEach(({ resume }) => resume(exit)))
  return runFor
}

export const chunksOf = <A>(all: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(all.length / size) }, (_, i) => all.slice(i * size, (i + 1) * size))
