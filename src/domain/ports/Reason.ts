import { Schema } from "effect"

/** Schema of an error's reason that has no fields of its own: one of these tags, and a sentence for people. */
export const reasonOf = <const Tags extends ReadonlyArray<string>>(tags: Tags) =>
  Schema.Struct({ _tag: Schema.Literals(tags), message: Schema.String })
