import { assert, describe, it } from "@effect/vitest"
import { briefStatusXml } from "#xmpp/BriefStatus.ts"

describe("BriefStatus", () => {
  it("cuts a title and a log line that are long, and nothing else", () => {
    const xml = briefStatusXml(
      { feed: "http://a.example/", title: "t".repeat(300_000), http: "h".repeat(5_000) },
      "urn:x"
    )
    assert.include(xml, `<title>${"t".repeat(999)}…</title>`)
    assert.include(xml, `${"h".repeat(999)}…</http>`)
    assert.include(briefStatusXml({ feed: "http://a.example/", title: "short" }, "urn:x"), "<title>short</title>")
  })

  it("leaves no half of a character", () => {
    const xml = briefStatusXml({ feed: "http://a.example/", title: `${"t".repeat(998)}😀${"t".repeat(9)}` }, "urn:x")
    assert.include(xml, `${"t".repeat(998)}\ufffd…</title>`)
  })
})
