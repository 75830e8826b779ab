import { Effect } from "effect"
import { isEvents } from "#domain/EventsTopic.ts"
import { withoutPrecedence } from "#domain/limits/AccountPrecedence.ts"
import { AddressCheck } from "#domain/ports/AddressCheck.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"

/**
 * Refuses a URL that Windhover will never connect to, so that its subscriber does not wait in vain. Events are not fetched.
 *
 * `parameter` is the caller's name for the URL.
 */
export const makeCheckAddress = Effect.map(
  AddressCheck,
  ({ explain }) =>
    Effect.fnUntraced(function*(
      url: string,
      parameter: "hub.topic" | "hub.callback" | "callback" | "node" | "url"
    ): Effect.fn.Return<void, Refusal> {
      if (isEvents(url)) return
      const text = yield* withoutPrecedence(explain(url))
      if (text !== undefined) {
        return yield* badParameter(parameter, `${parameter} can never be reached: received ${quote(url)}. ${text}`)
      }
    })
)
