import { Effect, Layer } from "effect"
import { LanguageDetector } from "#domain/ports/LanguageDetector.ts"

/** Least probability of an answer (docs/decisions/0031-languages-of-entries.md). */
const minProbability = 0.97

/** Texts between two turns of other fibers. A text costs up to 0.3 ms. */
const textsPerTurn = 8

/**
 * Google's Compact Language Detector 3, a small neural network in WebAssembly.
 *
 * Loaded with the first text, because its 30 MB are for nothing where all publishers name their languages. Without the package, nothing is
 * detected.
 */
export const layer = Layer.effect(
  LanguageDetector,
  Effect.gen(function*() {
    const load = yield* Effect.cached(Effect.catchCause(loadDetector, explainFailure))
    return {
      detect: Effect.fnUntraced(function*(texts: ReadonlyArray<string>) {
        const detectLanguage = texts.length === 0 ? detectNothing : yield* load
        const languages: Array<string | undefined> = []
        for (const text of texts) {
          languages.push(detectLanguage(text))
          if (languages.length % textsPerTurn === 0) yield* Effect.yieldNow
        }
        return languages
      })
    }
  })
)

type DetectLanguage = (text: string) => string | undefined

const detectNothing: DetectLanguage = () => undefined

const loadDetector: Effect.Effect<DetectLanguage> = Effect.promise(async () => {
  const { loadModule } = await import("cld3-asm")
  const identifier = (await loadModule()).create(0, maxBytes)
  return (text) => {
    const { is_reliable: isReliable, language, probability } = identifier.findLanguage(text)
    return isReliable && probability >= minProbability ? toTag(language) : undefined
  }
})

/** Bytes of a text that the detector reads. */
const maxBytes = 2000

/** Hebrew and Javanese have their old codes in the detector. */
const toTag = (language: string): string => language === "iw" ? "he" : language === "jw" ? "jv" : language

const explainFailure = () =>
  Effect.as(
    Effect.logWarning(
      "The language detector could not be loaded: entries have the publishers' languages only. Run npm ci in Windhover's directory."
    ),
    detectNothing
  )
