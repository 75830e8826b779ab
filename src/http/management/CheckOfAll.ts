import { Effect } from "effect"
import type { Caller } from "#domain/Account.ts"
import type { Refusal } from "#domain/Refusal.ts"
import { requireRight } from "#http/Authentication.ts"

/** Refuses a view of all accounts to a caller without the right `admin`. */
export const checkOfAll = (caller: Caller, all: boolean): Effect.Effect<void, Refusal> =>
  all ? requireRight(caller, "admin") : Effect.void
