import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { addLanguages } from "#actors/resource/EntryLanguages.ts"
import type { Entry } from "#domain/feed/Entry.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { LanguageDetector } from "#domain/ports/LanguageDetector.ts"
import { feed, watched } from "#test/support/HubCalls.ts"
import { loadState } from "#test/support/PartitionActors.ts"
import { initialState } from "#test/support/Resources.ts"
import { layer } from "#test/support/SimulatedWeb.ts"

const long = (id: string): Entry => ({ id, title: { type: "text", value: id.repeat(100) } })

describe("addLanguages", () => {
  it.effect("asks for entries without a language only, and keeps the order", () =>
    Effect.gen(function*() {
      const asked: Array<ReadonlyArray<string>> = []
      const detector = {
        detect: (texts: ReadonlyArray<string>) =>
          Effect.sync(() => {
            asked.push(texts.map((text) => text[0] ?? ""))
            return texts.map((text) => text.startsWith("b") ? undefined : `x-${text[0]}`)
          })
      }
      const entries = [long("a"), { ...long("s"), language: "nl" }, { id: "short" }, long("b"), long("c")]
      const change = { state: initialState(), entries, updated: [long("u")], announce: undefined }
      const described = yield* addLanguages(detector, change)
      assert.deepStrictEqual(asked, [["a", "b", "c"], ["u"]])
      assert.deepStrictEqual(described.entries.map(({ language }) => language), [
        "x-a",
        "nl",
        undefined,
        undefined,
        "x-c"
      ])
      assert.deepStrictEqual(described.updated.map(({ id, language }) => [id, language]), [["u", "x-u"]])
      assert.strictEqual(described.entries[2], entries[2])
    }))
})

describe("addLanguages for strangers", () => {
  it.effect("asks for no entry", () =>
    Effect.gen(function*() {
      const detector = { detect: () => Effect.die("asked") }
      const state = initialState({ strangersOnly: true })
      const change = { state, entries: [long("a")], updated: [], announce: undefined }
      assert.strictEqual(yield* addLanguages(detector, change), change)
    }))
})

/** Says the first letter of each text, and counts the texts. */
const makeLetterDetector = () => {
  const counter = { texts: 0 }
  const detect = (texts: ReadonlyArray<string>) =>
    Effect.sync(() => {
      counter.texts += texts.length
      return texts.map((text) => text[0])
    })
  return { counter, layer: Layer.succeed(LanguageDetector, { detect }) }
}

describe("a resource", () => {
  const detector = makeLetterDetector()

  it.effect("stores new entries with the languages of their texts, and looks at each entry once", () =>
    Effect.gen(function*() {
      const web = yield* watched("good")
      web.publish(feed, ["first", "n".repeat(100)])
      yield* TestClock.adjust("150 seconds")
      web.publish(feed, ["first", "n".repeat(100), "m".repeat(100)])
      yield* TestClock.adjust("300 seconds")
      const { id } = yield* loadState(feed)
      const page = yield* (yield* EntryStore).page({ resourceIds: [id], count: 10 })
      assert.deepStrictEqual(
        page._tag === "Page" && new Set(page.entries.map(({ entry }) => entry.language)),
        new Set(["n", "m", undefined])
      )
      assert.strictEqual(detector.counter.texts, 2)
    }).pipe(Effect.provide(Layer.provide(layer, detector.layer))))
})
