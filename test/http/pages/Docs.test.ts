import { assert, describe, it } from "@effect/vitest"
import { load } from "cheerio"
import { Effect } from "effect"
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { Html } from "#http/pages/Html.ts"
import { renderMarkdown } from "#http/pages/Markdown.ts"
import { serveDashboard } from "#test/support/Dashboard.ts"

const docs = join(import.meta.dirname, "../../../docs")

describe("documents", () => {
  it.live("are pages whose links lead to pages and headings that exist", () =>
    Effect.gen(function*() {
      const { get } = yield* serveDashboard()
      const names = [
        ...readdirSync(docs).filter((name) => name.endsWith(".md")),
        ...readdirSync(join(docs, "decisions")).map((name) => `decisions/${name}`)
      ].map((name) => name.replace(/\.md$/, "").replace("decisions/README", "decisions/index"))
      const pages = new Map<string, ReturnType<typeof load>>()
      for (
        const path of [
          "/docs",
          ...[...names, "README", "CONTRIBUTING", "CHANGELOG"].map((name) => `/docs/${name}`)
        ]
      ) {
        const page = yield* get(path)
        assert.strictEqual(page.status, 200, path)
        pages.set(path, load(page.text))
      }
      const broken = [...pages].flatMap(([from, $]) =>
        $("main a").toArray().map((node) => node.attribs["href"] ?? "").filter((href) => {
          if (/^(https?:|mailto:|\/docs\/reference|\/dashboard)/.test(href)) return false
          const [path = "", anchor] = href.split("#")
          const target = pages.get(path === "" ? from : path)
          return target === undefined || (anchor !== undefined && target(`[id="${anchor}"]`).length !== 1)
        }).map((href) => `${from}: ${href}`)
      )
      assert.deepStrictEqual(broken, [])
      assert.strictEqual((yield* get("/docs/..%2fpackage.json")).status, 404)
      assert.strictEqual((yield* get("/docs/decisions/..%2f..%2fpackage")).status, 404)
    }))

  it("escape HTML, and run no script of a link", () => {
    const { body } = renderMarkdown(
      "# A\n\n<script>x</script> [a](javascript:alert(1)) ![i](x.svg)\n",
      (target) => target
    )
    const $ = load(Html.markupOf(body), null, false)
    assert.deepStrictEqual($("*").toArray().map((node) => "name" in node ? node.name : ""), ["p"])
    assert.include($("p").text(), "<script>x</script>")
  })
})
