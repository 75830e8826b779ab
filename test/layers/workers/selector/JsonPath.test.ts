import { assert, describe, it } from "@effect/vitest"
import { checkJsonPath, selectJson } from "#layers/workers/selector/JsonPath.ts"

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

const document = {
  store: {
    book: [
      { category: "reference", title: "Sayings", price: 8.95 },
      { category: "fiction", title: "Sword", price: 12.99, isbn: "0-1" },
      { category: "fiction", title: "Moby", price: 8.99, isbn: "0-2" }
    ],
    bicycle: { color: "red", price: 399 }
  },
  "@graph": [{ h: "K", v: 1 }, { h: "L", v: 2 }],
  items: [1, 2, 3, 4, 5],
  x: ["a", "b", "c"],
  a: { c: { b: "deep" }, b: "near" },
  "og:title": "colon",
  none: null,
  "1st": "digit"
}

/** One row for each selector of RFC 9535, then common other syntax. A result without an array belongs to a singular path. */
const selected: ReadonlyArray<readonly [kind: string, path: string, value: unknown]> = [
  ["root", "$", document],
  ["name, shorthand", "$.store.bicycle.color", "red"],
  ["name, in brackets", "$['store'][\"bicycle\"]['color']", "red"],
  ["name that escapes", "$['og\\u003atitle']", "colon"],
  ["name whose value is null", "$.none", null],
  ["index", "$.items[1]", 2],
  ["index from the end", "$.items[-1]", 5],
  ["wildcard of an array", "$.x[*]", ["a", "b", "c"]],
  ["wildcard of an object", "$.store.bicycle.*", ["red", 399]],
  ["slice", "$.items[1:3]", [2, 3]],
  ["slice from the end", "$.items[-1:]", [5]],
  ["slice with a step", "$.items[::2]", [1, 3, 5]],
  ["slice with step 0", "$.items[::0]", []],
  ["slice backwards", "$.items[::-1]", [5, 4, 3, 2, 1]],
  ["several indexes", "$.x[0,1]", ["a", "b"]],
  ["an index twice", "$.x[0,0]", ["a", "a"]],
  ["several kinds of selectors", "$.items[0,3:]", [1, 4, 5]],
  ["descendants by name", "$.store..price", [8.95, 12.99, 8.99, 399]],
  ["descendants of a member", "$.a..b", ["near", "deep"]],
  ["descendants by index", "$..book[0].title", ["Sayings"]],
  ["filter that compares numbers", "$..book[?@.price < 10].title", ["Sayings", "Moby"]],
  ["filter that compares strings", "$..book[?@.category == 'fiction'].title", ["Sword", "Moby"]],
  ["filter that asks for existence", "$..book[?@.isbn].title", ["Sword", "Moby"]],
  ["filter with and, or, not", "$..book[?!@.isbn || @.price > 10 && @.isbn].title", ["Sayings", "Sword"]],
  ["filter that looks at the root", "$..book[?@.price > $.items[4]].title", ["Sayings", "Sword", "Moby"]],
  ["nothing compared with nothing", "$.x[?@.absent == $.absent]", ["a", "b", "c"]],
  ["nothing compared with null", "$.x[?@.absent == null]", []],
  ["null compared with null", "$.x[?$.none == null]", ["a", "b", "c"]],
  ["null is not false", "$.x[?$.none == false]", []],
  ["null exists", "$.x[?$.none]", ["a", "b", "c"]],
  ["length()", "$.x[?length(@) == 1]", ["a", "b", "c"]],
  ["count()", "$.store[?count(@.*) == 2]", [{ color: "red", price: 399 }]],
  ["match()", "$..book[?match(@.title, 'S.*')].title", ["Sayings", "Sword"]],
  ["search()", "$..book[?search(@.title, 'ob')].title", ["Moby"]],
  ["value()", "$..book[?value(@.title) == 'Moby'].price", [8.99]],
  ["nothing", "$.absent", undefined],
  ["nothing of several", "$.absent[*]", []],
  ["bare name with an at sign", "$..@graph[?(@.h==\"K\")]", [{ h: "K", v: 1 }]],
  ["bare name with a colon", "$.og:title", "colon"],
  ["bare name with a digit first", "$.1st", "digit"],
  ["filter in parentheses", "$..book[?(@.price<9)].title", ["Sayings", "Moby"]],
  ["half a number in a filter", "$.items[?@ > 4.5]", [5]],
  ["classic: last by a script", "$.items[(@.length-1)]", 5],
  ["classic: parents", "$.a.c.b^", [{ b: "deep" }]],
  ["classic: names", "$.a.*~", ["c", "b"]],
  ["classic: name in brackets without quotes", "$[store][bicycle].color", ["red"]]
]

const parsed = (json: string): unknown => json === "" ? undefined : JSON.parse(json)

describe("JsonPath", () => {
  it.each(selected)("%s: %s", (_, path, value) => {
    assert.deepStrictEqual(parsed(selectJson(bytes(JSON.stringify(document)), undefined, path).json), value)
  })

  const broken: ReadonlyArray<readonly [path: string, where: string]> = [
    ["$.items[", "unclosed bracketed selection ('$.items[':8)"],
    ["$.items[?(@.a =~ /x/)]", "unexpected filter selector token '='"],
    ["$.items[?(@.a", "unbalanced"],
    ["$..", "."],
    ["$.items[(@.length)]", "unexpected token '(' in bracketed selection"],
    ["$[?evil(@)]", "evil"],
    ["$.items[01]", "01"],
    ["$.items[-0]", "-0"],
    ["$.items[1:02]", "02"],
    ["$.items[9007199254740992]", "9007199254740992"],
    ["$.items[-9007199254740992]", "9007199254740992"],
    ["$.items[0:9007199254740992]", "9007199254740992"],
    ["$.a b", "expected '.', '..' or a bracketed selection"]
  ]

  it.each(broken)("locates the mistake in %s", (path, where) => {
    let message = ""
    try {
      checkJsonPath(path)
    } catch (error) {
      message = (error as Error).message
    }
    assert.include(message, `${JSON.stringify(path)} is not a JSONPath (RFC 9535): `)
    assert.include(message, where)
  })

  it("rejects a long path that begins like classic syntax", () => {
    assert.throws(() => checkJsonPath(`$${"a".repeat(2_000)}(`), /is not a JSONPath/)
    assert.throws(() => checkJsonPath(`$.${"a".repeat(2_000)}(`), /is not a JSONPath/)
    assert.throws(() => checkJsonPath(`$${"['a']".repeat(400)}(`), /is not a JSONPath/)
    assert.throws(() => checkJsonPath(`$${"..a".repeat(600)}(`), /is not a JSONPath/)
  })

  it("keeps the digits of numbers that JavaScript would round", () => {
    const text = "{\"id\":12345678901234567890,\"small\":-9007199254740993,\"rest\":1.5}"
    assert.strictEqual(selectJson(bytes(text), undefined, "$.*").json, "[12345678901234567890,-9007199254740993,1.5]")
    assert.strictEqual(
      selectJson(bytes("{\"price\":19.90,\"n\":1e21,\"z\":1e400}"), undefined, "$.*").json,
      "[19.90,1e21,1e400]"
    )
  })

  const large =
    "{\"items\":[{\"id\":12345678901234567890,\"n\":1},{\"id\":2,\"n\":2}],\"a/b~\":{\"x\":9007199254740993},\"^\":{\"y\":1}}"

  it.each([
    ["a filter that compares them", "$.items[?@.id==12345678901234567890].n", "[1]"],
    ["a filter that orders them", "$.items[?@.id>1000].n", "[1]"],
    ["a filter, around them", "$.items[?@.id>1000]", "[{\"id\":12345678901234567890,\"n\":1}]"],
    [
      "all descendants",
      "$.items..*",
      "[{\"id\":12345678901234567890,\"n\":1},{\"id\":2,\"n\":2},12345678901234567890,1,2,2]"
    ],
    ["what they are made of", "$..rawJSON", "[]"],
    ["one place", "$.items[0].id", "12345678901234567890"],
    ["the end of an array", "$.items[-2].id", "12345678901234567890"],
    ["a name that a pointer escapes", "$['a/b~'].x", "9007199254740993"],
    ["classic: parents", "$.items[0].id^", "[{\"id\":12345678901234567890,\"n\":1}]"],
    ["classic: names in brackets without quotes", "$.items[0][id]", "[12345678901234567890]"],
    ["classic: parents with names that a pointer escapes", "$['a/b~'].x^", "[{\"x\":9007199254740993}]"],
    ["classic: names that the library gives no location of", "$..y^", "[{\"y\":1}]"],
    ["classic: names", "$.items[0].*~", "[\"id\",\"n\"]"]
  ])("finds large numbers as numbers, and gives their digits: %s", (_, path, json) => {
    assert.strictEqual(selectJson(bytes(large), undefined, path).json, json)
  })

  it("reads documents in other encodings, and with a byte order mark", () => {
    assert.strictEqual(selectJson(bytes("\ufeff{\"a\":\"é\"}"), undefined, "$.a").json, "\"é\"")
    const latin = Uint8Array.from("{\"a\":\"\u00e9\"}", (character) => character.charCodeAt(0))
    assert.strictEqual(selectJson(latin, "application/json; charset=iso-8859-1", "$.a").json, "\"é\"")
  })

  it("explains that a document is not JSON", () => {
    assert.throws(() => selectJson(bytes("{\"a\":"), undefined, "$.a"), /the document is not JSON/)
  })

  it("does not touch prototypes", () => {
    assert.strictEqual(selectJson(bytes("{\"__proto__\":{\"x\":1}}"), undefined, "$.__proto__.x").json, "1")
    assert.strictEqual(selectJson(bytes("{}"), undefined, "$.__proto__").json, "")
    assert.strictEqual(selectJson(bytes("{}"), undefined, "$.constructor").json, "")
    assert.strictEqual(selectJson(bytes("{}"), undefined, "$[constructor]").json, "[]")
  })
})
