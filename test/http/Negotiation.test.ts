import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { matches, readFormat } from "#http/Negotiation.ts"
import { merge } from "#http/Parameters.ts"

const formatOf = (format: string, accept: string | undefined) =>
  Effect.flatMap(merge([["format", format]], []), (parameters) => readFormat(parameters, accept))

describe("readFormat", () => {
  it.effect.each(
    [
      ["", undefined, undefined],
      ["", "*/*", undefined],
      ["", "text/html, application/xhtml+xml, application/xml;q=0.9, */*;q=0.8", undefined],
      ["", "application/json", "json"],
      ["", "application/json, text/plain, */*", "json"],
      ["", "Application/JSON; charset=utf-8", "json"],
      ["", "application/atom+xml", "atom"],
      ["", "application/atom+xml, application/json;q=0.5", "atom"],
      ["", "application/atom+xml;q=0.5, application/json", "json"],
      ["", "application/json;q=0", undefined],
      ["", "application/json;q=x", undefined],
      ["ATOM", "application/json", "atom"],
      ["Json", undefined, "json"]
    ] as const
  )("format=%s with Accept: %s is %s", ([format, accept, expected]) =>
    Effect.gen(function*() {
      assert.strictEqual(yield* formatOf(format, accept), expected)
    }))
})

describe("matches", () => {
  it.each([
    [undefined, false],
    ["\"a\"", true],
    ["W/\"a\"", true],
    ["\"b\", \"a\"", true],
    ["*", true],
    ["\"b\"", false],
    ["a", false]
  ])("If-None-Match: %s is %s", (header, expected) => {
    assert.strictEqual(matches(header, "\"a\""), expected)
  })
})
