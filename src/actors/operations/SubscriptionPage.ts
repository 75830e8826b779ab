import { Effect } from "effect"
import type { Caller } from "#domain/Account.ts"
import type { Search } from "#domain/Search.ts"
import { Hub } from "./Hub.ts"

export interface SubscriptionPageRequest {
  readonly caller: Caller
  readonly search?: Search | undefined
  /** Id of the last subscription of the page before. */
  readonly after?: number | undefined
  readonly limit: number
}

/** A page of the subscriptions of an account, newest first. No rows are counted: `next` is the `after` of a next page. */
export const listSubscriptionPage = Effect.fnUntraced(
  function*({ after, caller, limit, search }: SubscriptionPageRequest) {
    const { items } = yield* Hub.use((hub) =>
      hub.list({
        caller,
        page: 1,
        byPage: limit + 1,
        newestFirst: true,
        counted: "items",
        ...(search !== undefined && { search }),
        ...(after !== undefined && { after })
      })
    )
    const rows = items.slice(0, limit)
    return { rows, next: items.length > limit ? rows.at(-1)?.subscription.id : undefined }
  }
)
