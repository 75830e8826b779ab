import { Effect } from "effect"
import { fragmentOf } from "#domain/poll/Fragment.ts"
import { Selector } from "#domain/ports/Selector.ts"
import { badParameter, refuseUnavailable } from "#domain/Refusal.ts"
import type { Topic } from "#domain/Topic.ts"

/**
 * Refuses a topic whose fragment can never select a match, or cannot be checked at the moment.
 *
 * `parameter` is the caller's name for the topic.
 */
export const makeCheckFragment = Effect.map(
  Selector,
  (selector) =>
    Effect.fnUntraced(function*({ canonical }: Topic, parameter: "hub.topic" | "node" = "hub.topic") {
      const fragment = fragmentOf(canonical)
      if (fragment === undefined) return
      yield* selector.check(fragment).pipe(
        Effect.catchTag("SelectorError", ({ message, reason }) =>
          Effect.fail(
            reason._tag === "Invalid"
              ? badParameter(
                parameter,
                `The fragment of ${parameter} selects nothing: ${message}. Leave it out to watch the whole document.`
              )
              : refuseUnavailable(
                `The fragment of ${parameter} could not be looked at: ${message}. Please try again.`,
                10
              )
          ))
      )
    })
)
