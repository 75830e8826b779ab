import { Context, Effect } from "effect"

/**
 * Detects the languages of texts: a BCP 47 tag for each, or `undefined` in doubt.
 *
 * The default detects nothing, so that entries have the publisher's languages only.
 */
export const LanguageDetector = Context.Reference<{
  readonly detect: (texts: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<string | undefined>>
}>("windhover/domain/ports/LanguageDetector", {
  defaultValue: () => ({ detect: (texts) => Effect.succeed(texts.map(() => undefined)) })
})
