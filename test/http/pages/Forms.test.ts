import { assert, describe, it } from "@effect/vitest"
import { load } from "cheerio"
import { Effect } from "effect"
import { field, searchForm, select } from "#http/pages/Forms.ts"
import { Html, html } from "#http/pages/Html.ts"
import { pager } from "#http/pages/Parts.ts"
import { merge } from "#http/Parameters.ts"

const parse = (value: Html | undefined) => load(value === undefined ? "" : Html.markupOf(value), null, false)

describe("forms", () => {
  it.effect("keep what was sent, except passwords", () =>
    Effect.gen(function*() {
      const sent = yield* merge([], [["host", "a<b"], ["state", "paused"], ["secret", "s3cret"]])
      const states = [{ value: "active", label: "active" }, { value: "paused", label: "paused" }]
      const $ = parse(
        searchForm(
          "/dashboard/x",
          "Search",
          html`${field("host", "Host", { value: "old" }, sent)}${
            select("state", "State", states, { value: "active" }, sent)
          }${field("secret", "Secret", { type: "password" }, sent)}`
        )
      )
      assert.strictEqual($("form").attr("method"), "get")
      assert.strictEqual($("input[name=host]").attr("value"), "a<b")
      assert.strictEqual($("select").val(), "paused")
      assert.strictEqual($("input[name=secret]").attr("value"), undefined)
      assert.deepStrictEqual(
        $("input, select").toArray().map((node) => $(`label[for="${$(node).attr("id")}"]`).text()),
        ["Host", "State", "Secret"]
      )
    }))
})

describe("pager", () => {
  it("keeps the query, and leads to the first and the next page", () => {
    const links = (cursor: string | undefined, next: string | undefined) =>
      parse(pager("/dashboard/x", { q: "a&b", host: undefined }, { cursor, next }))("a").toArray()
        .map((node) => node.attribs["href"])
    assert.deepStrictEqual(links(undefined, undefined), [])
    assert.deepStrictEqual(links(undefined, "n"), ["/dashboard/x?q=a%26b&cursor=n"])
    assert.deepStrictEqual(links("c", "n"), ["/dashboard/x?q=a%26b", "/dashboard/x?q=a%26b&cursor=n"])
    assert.deepStrictEqual(links("c", undefined), ["/dashboard/x?q=a%26b"])
  })
})
