import { Effect } from "effect"
import { fragmentOf } from "#domain/poll/Fragment.ts"
import { Selector } from "#domain/ports/Selector.ts"
import { badParameter, refuse, Unavailable } from "#domain/Refusal.ts"
import type { Topic } from "#domain/Topic.ts"

/** A selection that can never work is refused, and so is for now one that could not be looked at. `parameter`: how the caller calls the topic. */
export const makeCheckFragment = Effect.map(
  Selector,
  (selector) =>
    Effect.fnUntraced(function*({ canonical }: Topic, parameter: "hub.topic" | "node" = "hub.topic") {
      const fragment = fragmentOf(canonical)
      if (fragment === undefined) return
      yield* selector.check(fragment).pipe(
        Effect.catchTag("SelectorError", ({ message, reason }) =>
          reason._tag === "Invalid"
            ? Effect.fail(
              badParameter(
                parameter,
                `The fragment of ${parameter} selects nothing: ${message}. Leave it out to watch the whole document.`
              )
            )
            : Effect.fail(
              refuse(
                new Unavailable({
                  message: `The fragment of ${parameter} could not be looked at: ${message}. Please try again.`,
                  retryAfter: 10
                })
              )
            ))
      )
    })
)
