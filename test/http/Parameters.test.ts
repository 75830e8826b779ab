import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { readPublishedTopics } from "#http/HubParameters.ts"
import { formatSchema, integer } from "#http/ParameterSchemas.ts"
import fc from "fast-check"
import { maxParameters, merge, normalizeName, type Pair, type Parameters } from "#http/Parameters.ts"

const byPage = integer(1, 500, 20, "")

const of = (query: ReadonlyArray<Pair>, body: ReadonlyArray<Pair> = []): Effect.Effect<Parameters> =>
  Effect.orDie(merge(query, body))

const sentence = <A>(reading: Effect.Effect<A, { readonly message: string }>): Effect.Effect<string> =>
  Effect.map(Effect.flip(reading), (error) => error.message).pipe(Effect.orDie)

describe("readPublishedTopics", () => {
  it.effect("separates URLs at commas, and reads a value of spaces once", () =>
    Effect.gen(function*() {
      const list = yield* of([["hub.url", "http://a/1,2 , http://b/,https://c/"]])
      assert.deepStrictEqual(yield* readPublishedTopics(list), ["http://a/1,2", "http://b/", "https://c/"])
      const started = performance.now()
      const spaces = yield* of([["hub.url", `http://a/${" ".repeat(1_000_000)}b`]])
      assert.lengthOf(yield* readPublishedTopics(spaces), 1)
      assert.isBelow(performance.now() - started, 1_000)
    }))
})

describe("normalizeName", () => {
  it.each([
    ["hub.topic", "hub.topic"],
    ["search[feed][url]", "search.feed.url"],
    ["search[feed.url]", "search.feed.url"],
    ["hub.callback[endpoint][hostname]", "hub.callback.endpoint.hostname"],
    ["hub.url[]", "hub.url"],
    ["hub.url[12]", "hub.url"],
    ["a[b", "a[b"],
    ["[b]", "[b]"],
    ["a]b[", "a]b["],
    ["__proto__[polluted]", "__proto__.polluted"]
  ])("%s is %s", (given, expected) => {
    assert.strictEqual(normalizeName(given), expected)
  })

  it("returns undefined for deep nesting", () => {
    assert.strictEqual(normalizeName(`a${"[b]".repeat(7)}`), `a${".b".repeat(7)}`)
    assert.isUndefined(normalizeName(`a${"[b]".repeat(8)}`))
  })

  it("is idempotent", () => {
    fc.assert(fc.property(fc.string(), (name) => {
      const normal = normalizeName(name) ?? ""
      assert.strictEqual(normal.includes("[") ? normal : normalizeName(normal), normal)
    }))
  })
})

describe("Parameters", () => {
  it.effect("prefers the body over the query", () =>
    Effect.gen(function*() {
      const parameters = yield* of([["hub.mode", "list"], ["page", "2"]], [["hub.mode", "retrieve"]])
      assert.strictEqual(yield* parameters.one("hub.mode"), "retrieve")
      assert.strictEqual(yield* parameters.one("page"), "2")
    }))

  it.effect("treats an empty value as absent", () =>
    Effect.gen(function*() {
      const parameters = yield* of([["hub.secret", ""]])
      assert.isUndefined(yield* parameters.one("hub.secret"))
      assert.isFalse(parameters.has("hub.secret"))
    }))

  it.effect("keeps repeated values in order, and rejects different values for a single one", () =>
    Effect.gen(function*() {
      const parameters = yield* of([["hub.url", "a"], ["hub.url[]", "b"], ["hub.topic", "x"], ["hub.topic", "x"]])
      assert.deepStrictEqual(parameters.all("hub.url"), ["a", "b"])
      assert.strictEqual(yield* parameters.one("hub.topic"), "x")
      assert.strictEqual(
        yield* sentence(parameters.one("hub.url")),
        "hub.url was sent 2 times with different values, such as \"a\" and \"b\"; send it once."
      )
      const secrets = yield* of([["hub.secret", "a"], ["hub.secret", "b"]])
      assert.strictEqual(
        yield* sentence(secrets.one("hub.secret")),
        "hub.secret was sent 2 times with different values; send it once."
      )
    }))

  it.effect("finds nested names", () =>
    Effect.gen(function*() {
      const parameters = yield* of([["search[feed][url]", "x"], ["search[endpoint.url]", "y"], ["searching", "z"]])
      assert.deepStrictEqual(parameters.namesBelow("search"), ["feed.url", "endpoint.url"])
      assert.isTrue(parameters.has("search"))
      assert.isFalse(parameters.has("sear"))
    }))

  it.effect("treats names of Object.prototype as ordinary names", () =>
    Effect.gen(function*() {
      const parameters = yield* of([["__proto__[hub.mode]", "list"], ["constructor", "x"]])
      assert.isUndefined(yield* parameters.one("hub.mode"))
      assert.isUndefined(yield* parameters.one("toString"))
      assert.strictEqual(yield* parameters.one("constructor"), "x")
      assert.isUndefined(({} as Record<string, unknown>)["hub.mode"])
    }))

  it.effect("reads whole numbers within their limits", () =>
    Effect.gen(function*() {
      const read = (text: string) => Effect.flatMap(of([["by_page", text]]), (p) => p.integer("by_page", byPage))
      assert.strictEqual(yield* read(""), 20)
      assert.strictEqual(yield* read("500"), 500)
      for (const wrong of ["0", "501", "-1", "1.5", "ten", "1e2", "0x10", "99999999999999999999"]) {
        assert.strictEqual(
          yield* sentence(read(wrong)),
          `by_page has to be a whole number from 1 to 500; received "${wrong}". The default is 20.`
        )
      }
    }))

  it.effect("reads words in lower and upper case", () =>
    Effect.gen(function*() {
      const read = (text: string) => Effect.flatMap(of([["format", text]]), (p) => p.choice("format", formatSchema))
      assert.strictEqual(yield* read(" JSON "), "json")
      assert.strictEqual(yield* sentence(read("xml")), "format can be json or atom; received \"xml\".")
    }))

  it.effect("rejects too many parameters, long and deep names, and invalid characters", () =>
    Effect.gen(function*() {
      const many = Array.from({ length: maxParameters + 1 }, (_, i): Pair => [`p${i}`, ""])
      assert.strictEqual(yield* sentence(merge(many, [])), "The request has more than 1000 parameters; send fewer.")
      assert.match(yield* sentence(merge([["x".repeat(257), ""]], [])), /^The name of a parameter has 257 characters/)
      assert.match(yield* sentence(merge([[`a${"[b]".repeat(9)}`, ""]], [])), /nested too deep.*at most 8/)
      assert.strictEqual(
        yield* sentence(merge([["hub.topic", "http://a/\0"]], [])),
        "hub.topic contains a NUL character; leave it out."
      )
      assert.strictEqual(
        yield* sentence(merge([], [["hub.secret", "half \ud83e"]])),
        "hub.secret contains half of a surrogate pair, which is not a character; leave it out."
      )
    }))
})
