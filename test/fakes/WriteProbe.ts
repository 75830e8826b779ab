import { Effect } from "effect"
import { WriteProbe } from "#domain/ports/WriteProbe.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): WriteProbe["Service"] =>
  WriteProbe.of({ attempt: operation(state, () => undefined).pipe(Effect.withSpan("Writing.attempt")) })
