import { Data, Effect } from "effect"
import { type ProgramEnded, startProgram } from "./Program.ts"

/** Failed operation of a third-party client, with the client's answer. */
export class ThirdPartyClientError extends Data.TaggedError("ThirdPartyClientError")<{ readonly message: string }> {}

type Line =
  | { readonly event: string; readonly value?: unknown }
  | { readonly id: number; readonly result: unknown }
  | { readonly id: number; readonly error: string }

/** A third-party XMPP client in a separate process. */
export interface ThirdPartyClient {
  readonly ask: (
    verb: "subscribe" | "unsubscribe" | "retrieve" | "retrieve a" | "list" | "info",
    url?: string
  ) => Effect.Effect<unknown, ThirdPartyClientError | ProgramEnded>
  /** Received events, in order. */
  readonly events: ReadonlyArray<{ readonly event: string; readonly value?: unknown }>
  /** Resolves when `condition` holds; checked at each event. */
  readonly until: (condition: () => boolean) => Effect.Effect<void, ProgramEnded>
}

/**
 * Starts a program that logs in, and returns after its `connected` event. The process ends with the scope.
 *
 * An input line is `{"id", "verb", "url"}`. An output line is `{"id", "result"}`, `{"id", "error"}`, or `{"event", "value"}`.
 */
export const startThirdPartyClient = Effect.fnUntraced(function*(program: string, args: ReadonlyArray<string>) {
  const events: Array<{ readonly event: string; readonly value?: unknown }> = []
  const answers = new Map<number, (answer: Effect.Effect<unknown, ThirdPartyClientError>) => void>()
  const hear = (line: Line) => {
    if ("event" in line) return void events.push(line)
    answers.get(line.id)?.(
      "error" in line ? Effect.fail(new ThirdPartyClientError({ message: line.error })) : Effect.succeed(line.result)
    )
  }
  const { child, ended, until } = yield* startProgram(program, args, (line) => hear(JSON.parse(line)))
  let serial = 0
  const answer = (verb: string, url: string) =>
    Effect.callback<unknown, ThirdPartyClientError>((resume) => {
      const id = ++serial
      answers.set(id, resume)
      child.stdin.write(`${JSON.stringify({ id, verb, url })}\n`)
      return Effect.sync(() => void answers.delete(id))
    })
  yield* until(() => events.some(({ event }) => event === "connected"))
  const client: ThirdPartyClient = {
    ask: (verb, url = "") => Effect.raceFirst(answer(verb, url), ended),
    events,
    until
  }
  return client
})
