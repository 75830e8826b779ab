import { Effect, Schema } from "effect"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"

/** Maximum characters of a cursor. */
export const maxCursorLength = 256

/**
 * Cursors of one list: where its next page begins, as opaque text.
 *
 * `position` are the sort keys of the last row. A page so reads no rows before it, and needs no count. `list` keeps the cursors of
 * different lists apart.
 */
export const makeCursor = <Position>(list: string, position: Schema.Codec<Position>) => {
  const codec = Schema.fromJsonString(Schema.Struct({ list: Schema.Literal(list), position }))
  const decode = Schema.decodeUnknownEffect(codec)
  return {
    format: (position: Position): string => Buffer.from(JSON.stringify({ list, position })).toString("base64url"),
    /** Undefined without a cursor. */
    parse: (text: string | undefined): Effect.Effect<Position | undefined, Refusal> =>
      text === undefined ? Effect.undefined : decode(Buffer.from(text, "base64url").toString()).pipe(
        Effect.map((cursor) => cursor.position),
        Effect.mapError(() =>
          badParameter(
            "cursor",
            `cursor is not one of this list: received ${quote(text)}; send \`next\` of the page before, or no cursor.`
          )
        )
      )
  }
}
