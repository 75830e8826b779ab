import { Effect } from "effect"
import { fragmentOf } from "#domain/Fragment.ts"
import { Selector } from "#domain/ports/Selector.ts"
import { badParameter } from "#domain/Refusal.ts"
import type { Topic } from "#domain/Topic.ts"

/** A selection that can never work is refused; one that takes too long to look at shows in the status. */
export const makeCheckFragment = Effect.map(Selector, (selector) =>
  Effect.fnUntraced(function*({ canonical }: Topic) {
    const fragment = fragmentOf(canonical)
    if (fragment === undefined) return
    yield* selector.check(fragment).pipe(
      Effect.catchTag("SelectorError", ({ message, reason }) =>
        reason === "invalid"
          ? Effect.fail(
            badParameter(
              "hub.topic",
              `The fragment of hub.topic selects nothing: ${message}. Leave it out to watch the whole document.`
            )
          )
          : Effect.void)
    )
  }))
