import { Context } from "effect"
import { StrangerLedger } from "#domain/limits/StrangerLedger.ts"

/** The ledger of the process. */
export const StrangersLedger = Context.Reference<StrangerLedger>("windhover/domain/ports/StrangersLedger", {
  defaultValue: () => new StrangerLedger()
})
