import { Data, Effect } from "effect"
import { spawn } from "node:child_process"
import { createInterface } from "node:readline"
import { untilAmong } from "./Until.ts"

/** What a client answered that did not do what it was asked for; or that it has ended, with its last words. */
export class OtherClientError extends Data.TaggedError("OtherClientError")<{ readonly message: string }> {}

type Line =
  | { readonly event: string; readonly value?: unknown }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string }

/** A client of XMPP that is not ours, in a process of its own. */
export interface OtherClient {
  readonly ask: (
    verb: "subscribe" | "unsubscribe" | "retrieve" | "list" | "info",
    url?: string
  ) => Effect.Effect<unknown, OtherClientError>
  /** What it was told without having asked, in order. */
  readonly events: ReadonlyArray<{ readonly event: string; readonly value?: unknown }>
  /** Resolves when `condition` holds; asked again with each event. */
  readonly until: (condition: () => boolean) => Effect.Effect<void, OtherClientError>
}

/**
 * Starts a program that logs in, and returns when it has said that it is connected; ended with the scope.
 *
 * A line of its input is `{"id", "verb", "url"}`, a line of its output `{"id", "result"}`, `{"id", "error"}`, or `{"event", "value"}`.
 */
export const otherClient = Effect.fnUntraced(function*(program: string, args: ReadonlyArray<string>) {
  const child = yield* Effect.acquireRelease(
    Effect.sync(() => spawn(program, args, { stdio: ["pipe", "pipe", "pipe"] })),
    (child) => Effect.sync(() => child.kill("SIGKILL"))
  )
  const events: Array<{ readonly event: string; readonly value?: unknown }> = []
  const answers = new Map<number, (answer: Effect.Effect<unknown, OtherClientError>) => void>()
  const waiting = new Set<() => void>()
  let serial = 0
  let said = ""

  const hear = (line: Line) => {
    if ("event" in line) {
      events.push(line)
      for (const look of waiting) look()
    } else {
      answers.get(line.id)?.(
        "error" in line ? Effect.fail(new OtherClientError({ message: line.error })) : Effect.succeed(line.result)
      )
    }
  }
  createInterface({ input: child.stdout }).on("line", (line) => hear(JSON.parse(line)))
  child.stderr.setEncoding("utf8").on("data", (text: string) => said = `${said}${text}`.slice(-4000))

  const ended = Effect.callback<never, OtherClientError>((resume) => {
    const tell = () => resume(Effect.fail(new OtherClientError({ message: `${program} has ended: ${said}` })))
    if (child.exitCode !== null) return tell()
    child.once("close", tell).once("error", tell)
    return Effect.sync(() => void child.off("close", tell).off("error", tell))
  })
  const until = untilAmong(waiting)
  const client: OtherClient = {
    ask: (verb, url = "") =>
      Effect.raceFirst(
        Effect.callback<unknown, OtherClientError>((resume) => {
          const id = ++serial
          answers.set(id, resume)
          child.stdin.write(`${JSON.stringify({ id, verb, url })}\n`)
          return Effect.sync(() => void answers.delete(id))
        }),
        ended
      ),
    events,
    until: (condition) => Effect.raceFirst(until(condition), ended)
  }
  yield* client.until(() => events.some(({ event }) => event === "connected"))
  return client
})
