import { Data, Effect } from "effect"
import { type Ended, saying } from "./Saying.ts"

/** What a client answered that did not do what it was asked for. */
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
  ) => Effect.Effect<unknown, OtherClientError | Ended>
  /** What it was told without having asked, in order. */
  readonly events: ReadonlyArray<{ readonly event: string; readonly value?: unknown }>
  /** Resolves when `condition` holds; asked again with each event. */
  readonly until: (condition: () => boolean) => Effect.Effect<void, Ended>
}

/**
 * Starts a program that logs in, and returns when it has said that it is connected; ended with the scope.
 *
 * A line of its input is `{"id", "verb", "url"}`, a line of its output `{"id", "result"}`, `{"id", "error"}`, or `{"event", "value"}`.
 */
export const otherClient = Effect.fnUntraced(function*(program: string, args: ReadonlyArray<string>) {
  const events: Array<{ readonly event: string; readonly value?: unknown }> = []
  const answers = new Map<number, (answer: Effect.Effect<unknown, OtherClientError>) => void>()
  const hear = (line: Line) => {
    if ("event" in line) return void events.push(line)
    answers.get(line.id)?.(
      "error" in line ? Effect.fail(new OtherClientError({ message: line.error })) : Effect.succeed(line.result)
    )
  }
  const { child, ended, until } = yield* saying(program, args, (line) => hear(JSON.parse(line)))
  let serial = 0
  const answer = (verb: string, url: string) =>
    Effect.callback<unknown, OtherClientError>((resume) => {
      const id = ++serial
      answers.set(id, resume)
      child.stdin.write(`${JSON.stringify({ id, verb, url })}\n`)
      return Effect.sync(() => void answers.delete(id))
    })
  yield* until(() => events.some(({ event }) => event === "connected"))
  const client: OtherClient = {
    ask: (verb, url = "") => Effect.raceFirst(answer(verb, url), ended),
    events,
    until
  }
  return client
})
