import { assert, describe, it } from "@effect/vitest"
import { renderBriefStatus } from "#xmpp/BriefStatus.ts"

describe("BriefStatus", () => {
  it("shortens a long title and a long log line only", () => {
    const xml = renderBriefStatus(
      { feed: "http://a.example/", title: "t".repeat(300_000), http: "h".repeat(5_000) },
      "urn:x"
    )
    assert.include(xml, `<title>${"t".repeat(999)}…</title>`)
    assert.include(xml, `${"h".repeat(999)}…</http>`)
    assert.include(renderBriefStatus({ feed: "http://a.example/", title: "short" }, "urn:x"), "<title>short</title>")
  })

  it("splits no character", () => {
    const xml = renderBriefStatus({ feed: "http://a.example/", title: `${"t".repeat(998)}😀${"t".repeat(9)}` }, "urn:x")
    assert.include(xml, `${"t".repeat(998)}\ufffd…</title>`)
  })

  it("renders known ranks only", () => {
    const known = renderBriefStatus(
      { feed: "http://a.example/", bozoRank: 0.5, pornRank: 0.25, generatedIds: true },
      "urn:x"
    )
    for (const field of ["bozo_rank>0.5<", "porn_rank>0.25<", "generated_ids>true<"]) assert.include(known, field)
    assert.notMatch(renderBriefStatus({ feed: "http://a.example/" }, "urn:x"), /rank|generated_ids/)
  })
})
