import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { renderStatusXml } from "#domain/render/StatusXml.ts"
import { hostile, model } from "#test/generators/Model.ts"
import { children, content, names, parse } from "./xml.ts"

const EXT = "http://ext.example/ns"
const at = (iso: string) => Date.parse(iso)

describe("StatusXml", () => {
  it("has the children of the original service, in order", () => {
    const status = {
      feed: "https://news.example/rss?a&b",
      code: 200,
      http: "Fetched (ping) 200 900 and parsed 1/30 entries",
      nextFetch: at("2013-10-12T20:45:19.450Z"),
      entriesCountSinceLastMaintenance: 81,
      period: 900,
      lastFetch: at("2013-10-12T20:30:19Z"),
      lastParse: at("2013-10-12T20:30:19Z"),
      lastMaintenanceAt: at("2013-10-11T20:28:25Z")
    }
    assert.strictEqual(
      renderStatusXml(status, EXT),
      `<status feed="https://news.example/rss?a&amp;b" xmlns="${EXT}">` +
        `<http code="200">Fetched (ping) 200 900 and parsed 1/30 entries</http>` +
        "<next_fetch>2013-10-12T20:45:19Z</next_fetch>" +
        "<entries_count_since_last_maintenance>81</entries_count_since_last_maintenance>" +
        "<period>900</period>" +
        "<last_fetch>2013-10-12T20:30:19Z</last_fetch>" +
        "<last_parse>2013-10-12T20:30:19Z</last_parse>" +
        "<last_maintenance_at>2013-10-11T20:28:25Z</last_maintenance_at>" +
        "</status>"
    )
  })

  it("has its usual children, empty, without values", () => {
    const read = parse(renderStatusXml({ feed: "http://a.example/" }, EXT))
    assert.deepStrictEqual(names(read), [
      "http",
      "next_fetch",
      "period",
      "last_fetch",
      "last_parse",
      "last_maintenance_at"
    ])
    assert.isTrue(children(read).every((child) => content(child) === ""))
    assert.deepStrictEqual(children(read)[0]?.attributes, {})
  })

  it("contains all known values, and generatedIds only if true", () => {
    const known = {
      feed: "f",
      title: "T",
      code: 0,
      velocity: 1.1,
      popularity: 5.23,
      pornRank: 0,
      bozoRank: 0.5,
      generatedIds: true
    }
    const read = parse(renderStatusXml(known, EXT))
    const values = Object.fromEntries(children(read).map((child) => [child.name, content(child)]))
    assert.deepStrictEqual(children(read)[0]?.attributes, { code: "0" })
    assert.deepInclude(values, {
      title: "T",
      velocity: "1.1",
      popularity: "5.23",
      porn_rank: "0",
      bozo_rank: "0.5",
      generated_ids: "true"
    })
    assert.notInclude(renderStatusXml({ ...known, generatedIds: false }, EXT), "generated_ids")
  })

  it("begins with http and next_fetch, and is well-formed for any values", () => {
    fc.assert(fc.property(model(hostile).status, (status) => {
      assert.deepStrictEqual(names(parse(renderStatusXml(status, EXT))).slice(0, 2), ["http", "next_fetch"])
    }))
  })
})
