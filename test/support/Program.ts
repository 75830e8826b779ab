import { Data, Effect } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { awaitCondition } from "./AwaitCondition.ts"

/** Unexpected end of a program; the message holds the end of its standard error. */
export class ProgramEnded extends Data.TaggedError("Ended")<{ readonly message: string }> {}

/** Starts a program; `hear` gets each line of its output. The process is killed with the scope. */
export const startProgram = Effect.fnUntraced(function*(
  program: string,
  args: ReadonlyArray<string>,
  hear: (line: string) => void = () => {}
) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  const said: Array<string> = []
  const waiting = new Set<() => void>()
  let complaints = ""
  createInterface({ input: child.stdout }).on("line", (line) => {
    said.push(line)
    hear(line)
    for (const look of waiting) look()
  })
  child.stderr.setEncoding("utf8").on("data", (text: string) => complaints = `${complaints}${text}`.slice(-4000))

  const ended = Effect.callback<never, ProgramEnded>((resume) => {
    const tell = () => resume(Effect.fail(new ProgramEnded({ message: `${program} has ended: ${complaints}` })))
    if (child.exitCode !== null) return tell()
    child.once("close", tell).once("error", tell)
    return Effect.sync(() => void child.off("close", tell).off("error", tell))
  })
  const until = awaitCondition(waiting)
  return {
    child,
    /** Lines of the output, in order. */
    said: said as ReadonlyArray<string>,
    ended,
    /** Resolves when `condition` holds; checked at each line. */
    until: (condition: () => boolean) => Effect.raceFirst(until(condition), ended)
  }
})
