import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { LanguageDetector } from "#domain/ports/LanguageDetector.ts"
import * as LanguageDetectorCld3 from "#layers/LanguageDetectorCld3.ts"

const texts = {
  de:
    "Der Gemeinderat hat am Donnerstag beschlossen, die alte Brücke im kommenden Frühjahr zu erneuern und den Verkehr umzuleiten.",
  en:
    "The town council decided on Thursday that the old bridge will be rebuilt next spring and that traffic takes another route.",
  es:
    "El ayuntamiento decidió el jueves que el viejo puente será renovado la próxima primavera y que el tráfico será desviado.",
  fr:
    "Le conseil municipal a décidé jeudi que le vieux pont sera rénové au printemps prochain et que la circulation sera déviée.",
  he: "מועצת העיר החליטה ביום חמישי כי הגשר הישן ישופץ באביב הבא וכי התנועה תוסט לרחוב אחר עד לסיום העבודות",
  ja: "町議会は木曜日に、古い橋を来年の春に改修し、その間は交通を別の道路に迂回させることを決定しました。",
  ru:
    "Городской совет решил в четверг, что старый мост будет отремонтирован следующей весной, а движение будет перенаправлено.",
  zh: "市议会星期四决定明年春天翻修旧桥并在施工期间将交通改道到另一条街道以保证居民的安全和便利"
}

describe("LanguageDetectorCld3", () => {
  it.effect("detects the languages of long texts, in order", () =>
    Effect.gen(function*() {
      const { detect } = yield* LanguageDetector
      assert.deepStrictEqual(yield* detect(Object.values(texts)), Object.keys(texts))
      assert.deepStrictEqual(yield* detect([]), [])
      assert.deepStrictEqual(
        yield* detect([texts.fr, texts.fr, texts.fr, texts.fr, texts.fr, texts.fr, texts.fr, texts.fr, texts.de]),
        [
          ...Array.from({ length: 8 }, () => "fr"),
          "de"
        ]
      )
    }).pipe(Effect.provide(LanguageDetectorCld3.layer)))

  it.effect("is silent in doubt", () =>
    Effect.gen(function*() {
      const { detect } = yield* LanguageDetector
      const code = "function foo(bar) { return bar.map((x) => x * 2).filter(Boolean).reduce((a, b) => a + b, 0) }"
      assert.deepStrictEqual(yield* detect([code, "12345 67890 12345 67890", ""]), [undefined, undefined, undefined])
    }).pipe(Effect.provide(LanguageDetectorCld3.layer)))

  it.effect("detects nothing without a layer", () =>
    Effect.gen(function*() {
      const { detect } = yield* LanguageDetector
      assert.deepStrictEqual(yield* detect([texts.de]), [undefined])
    }))
})
