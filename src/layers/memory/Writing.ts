import { Effect } from "effect"
import { Writing } from "#domain/ports/Writing.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): Writing["Service"] =>
  Writing.of({ attempt: operation(state, () => undefined).pipe(Effect.withSpan("Writing.attempt")) })
