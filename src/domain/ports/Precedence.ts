import { Context } from "effect"
import { AccountPrecedence } from "#domain/limits/AccountPrecedence.ts"

/** The precedence of accounts in the process. */
export const Precedence = Context.Reference<AccountPrecedence>("windhover/domain/ports/Precedence", {
  defaultValue: () => new AccountPrecedence()
})
