import { Effect } from "effect"
import type { Entry } from "#domain/feed/Entry.ts"
import { sampleForLanguage } from "#domain/normalize/EntryLanguage.ts"
import type { LanguageDetector } from "#domain/ports/LanguageDetector.ts"
import type { PollWrite } from "#domain/ports/ResourceStore.ts"

type Detector = typeof LanguageDetector["Service"]

/**
 * Gives the new and the updated entries of a poll the languages of their texts, where the publisher names none.
 *
 * Strangers get the documents byte for byte, so that the event loop spends no time on the entries of their topics.
 */
export const addLanguages = Effect.fnUntraced(function*(detector: Detector, change: PollWrite) {
  if (change.state.strangersOnly === true) return change
  return {
    ...change,
    entries: yield* describeAll(detector, change.entries),
    updated: yield* describeAll(detector, change.updated)
  }
})

const describeAll = (detector: Detector, entries: ReadonlyArray<Entry>): Effect.Effect<ReadonlyArray<Entry>> => {
  const samples = entries.map(sampleForLanguage)
  const texts = samples.filter((sample) => sample !== undefined)
  if (texts.length === 0) return Effect.succeed(entries)
  return Effect.map(detector.detect(texts), (languages) => {
    let next = 0
    return entries.map((entry, at) => {
      const language = samples[at] === undefined ? undefined : languages[next++]
      return language === undefined ? entry : { ...entry, language }
    })
  })
}
