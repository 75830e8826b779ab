import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import type { Entry, Shape } from "#domain/feed/Entry.ts"
import { type JsonNotification, renderEntryJson, renderJson } from "#domain/render/NotificationJson.ts"
import { toPlainText } from "#domain/render/PlainText.ts"
import { dropIllegalCharacters } from "#domain/render/Xml.ts"
import { hostile, model } from "#test/generators/Model.ts"

const text = (value: string, type = "text") => ({ value, type })
const status = { feed: "https://comics.example/rss.xml", code: 200 }
const rendered = (notification: JsonNotification): unknown => JSON.parse(renderJson(notification))
const item = (entry: Entry): unknown => JSON.parse(renderEntryJson(entry))

describe("NotificationJson", () => {
  it("has the keys of the original service", () => {
    const notification = {
      status: {
        feed: "https://comics.example/rss.xml",
        code: 200,
        http: "Fetched (ring) 200 900 and parsed 1/4 entries",
        nextFetch: 1_580_581_304_999,
        velocity: 0.5,
        title: "comics.example",
        period: 900,
        lastFetch: 1_580_580_404_000,
        lastParse: 1_580_565_988_000,
        lastMaintenanceAt: 1_580_565_988_000
      },
      header: { title: text("comics.example") },
      entries: [{
        id: "https://comics.example/2262/",
        published: 1_580_446_800_000,
        updated: 1_580_446_800_000,
        title: text("Probe"),
        summary: text("<img/>", "html"),
        links: [{ href: "https://comics.example/2262/", rel: "alternate" }],
        language: "en"
      }]
    }
    assert.deepStrictEqual(rendered(notification), {
      status: {
        code: 200,
        http: "Fetched (ring) 200 900 and parsed 1/4 entries",
        nextFetch: 1_580_581_304,
        velocity: 0.5,
        title: "comics.example",
        period: 900,
        lastFetch: 1_580_580_404,
        lastParse: 1_580_565_988,
        lastMaintenanceAt: 1_580_565_988,
        feed: "https://comics.example/rss.xml"
      },
      title: "comics.example",
      updated: null,
      id: "https://comics.example/rss.xml",
      items: [{
        id: "https://comics.example/2262/",
        published: 1_580_446_800,
        updated: 1_580_446_800,
        title: "Probe",
        summary: "<img/>",
        permalinkUrl: "https://comics.example/2262/",
        standardLinks: {
          alternate: [{ title: "Probe", href: "https://comics.example/2262/", rel: "alternate", type: "text/html" }]
        },
        language: "en"
      }]
    })
  })

  it("is a status with an empty header and no items for a failure", () => {
    assert.strictEqual(
      renderJson({
        status: { feed: "f", code: 404, http: "Fetched (ring) 404 900" },
        header: { title: text("T"), id: "x", updated: 1 },
        entries: undefined
      }),
      `{"status":{"code":404,"http":"Fetched (ring) 404 900","feed":"f"},"title":"","updated":null,"id":""}`
    )
  })

  it("always has items in other notifications", () => {
    assert.deepStrictEqual(rendered({ status, header: undefined, entries: [], retrieve: true }), {
      status: { code: 200, feed: status.feed },
      title: "",
      updated: null,
      id: "https://comics.example/rss.xml",
      items: []
    })
  })

  it("has plain titles, whatever the publisher's type", () => {
    const titles = [
      text("AT&T <3"),
      text("a &lt;b&gt; &amp;<i> c</i>\n<!-- d -->", "html"),
      text("<b>x</b>&#33;", "xhtml")
    ]
    assert.deepStrictEqual(
      titles.map((title) => JSON.parse(renderEntryJson({ id: "x", title, source: { title } }))),
      ["AT&T <3", "a <b> & c", "x!"].map((title) => ({ id: "x", title, source: { title } }))
    )
    const header = { title: text("A &amp; B", "html"), subtitle: text("<i>C</i>", "html") }
    const { subtitle, title } = JSON.parse(renderJson({ status, header, entries: [] }))
    assert.deepStrictEqual([title, subtitle], ["A & B", "C"])
  })

  it("extrapolates the point of an entry from its shape", () => {
    const pointOf = (shape: Shape) => JSON.parse(renderEntryJson({ id: "x", shape })).geo?.coordinates
    assert.deepStrictEqual(pointOf({ type: "Box", coordinates: [[2, 1], [5, 3]] }), [2, 3.5])
    assert.deepStrictEqual(pointOf({ type: "Box", coordinates: [[170, -20], [-178, -10]] }), [-15, 176])
    assert.deepStrictEqual(pointOf({ type: "Box", coordinates: [[178, 0], [-170, 0]] }), [0, -176])
    assert.deepStrictEqual(pointOf({ type: "LineString", coordinates: [[10, 1], [-2, 0], [0, 2]] }), [1, 4])
    assert.isUndefined(pointOf({ type: "Polygon", coordinates: [] }))
  })

  it("has the known fields of the header", () => {
    const header = {
      id: "urn:1",
      title: text("T"),
      subtitle: text("S"),
      updated: 1_290_800_265_000,
      links: [{ href: "http://a.example/feed", rel: "self", type: "application/atom+xml" }]
    }
    assert.deepInclude(rendered({ status, header, entries: [] }), {
      id: "urn:1",
      title: "T",
      subtitle: "S",
      updated: 1_290_800_265,
      standardLinks: { self: [{ href: "http://a.example/feed", rel: "self", type: "application/atom+xml" }] }
    })
  })

  it("maps every element of an entry", () => {
    const second = { name: "Second", uri: "http://a.example/second", email: "second@a.example" }
    const entry: Entry = {
      id: "x",
      title: text("T"),
      content: [text("C")],
      points: [{ latitude: 47.5, longitude: -122.25 }, { latitude: 1, longitude: 2 }],
      links: [
        { href: "http://a.example/1", rel: "alternate", type: "text/html", title: "" },
        { href: "http://a.example/1.png", rel: "picture", type: "image/png", title: "A picture" },
        { href: "http://a.example/2.png", rel: "picture" }
      ],
      categories: [{ term: "Things" }, { term: "Picture" }],
      authors: [{
        ...second,
        name: "First",
        id: "id-first",
        title: "First",
        objectTypes: ["http://as.example/1.0/person", "http://as.example/1.0/dude"],
        links: [
          { href: "http://a.example/first.png", rel: "picture", type: "image/png" },
          { href: "http://a.example/first/profile", rel: "alternate" }
        ]
      }, second],
      verbs: ["http://as.example/1.0/post", "http://as.example/1.0/publish"],
      objects: [{
        objectTypes: ["http://b.example/1.0/spot", "http://as.example/1.0/place"],
        id: "object-id",
        title: "Object",
        published: 1_271_768_440_000,
        updated: 1_271_851_240_000,
        content: text("hello world"),
        authors: [second],
        links: [{ href: "http://a.example/object/2", rel: "alternate" }]
      }],
      source: {
        id: "http://blog.example/",
        title: text("Blog"),
        updated: 1_245_776_753_000,
        links: [{ href: "http://blog.example/", rel: "alternate" }]
      }
    }
    assert.deepStrictEqual(item(entry), {
      id: "x",
      title: "T",
      content: "C",
      permalinkUrl: "http://a.example/1",
      standardLinks: {
        alternate: [{ title: "", href: "http://a.example/1", rel: "alternate", type: "text/html" }],
        picture: [
          { title: "A picture", href: "http://a.example/1.png", rel: "picture", type: "image/png" },
          { href: "http://a.example/2.png", rel: "picture" }
        ]
      },
      verb: "publish",
      categories: ["Things", "Picture"],
      geo: { type: "point", coordinates: [47.5, -122.25] },
      actor: {
        displayName: "First",
        image: "http://a.example/first.png",
        permalinkUrl: "http://a.example/first/profile",
        id: "id-first",
        objectType: "dude",
        title: "First"
      },
      object: {
        permalinkUrl: "http://a.example/object/2",
        content: "hello world",
        published: 1_271_768_440,
        actor: { displayName: "Second", permalinkUrl: "http://a.example/second" },
        id: "object-id",
        updated: 1_271_851_240,
        title: "Object",
        objectType: "place"
      },
      source: {
        id: "http://blog.example/",
        title: "Blog",
        updated: 1_245_776_753,
        permalinkUrl: "http://blog.example/",
        standardLinks: {
          alternate: [{ title: "Blog", href: "http://blog.example/", rel: "alternate", type: "text/html" }]
        }
      }
    })
  })

  it("attaches up to 64 kB of items to their entries", () => {
    const attached = (length: number) => {
      const entries: ReadonlyArray<Entry> = [{ id: "a".repeat(length) }]
      const empty = rendered({ status, header: undefined, entries, retrieve: true })
      assert.deepStrictEqual(rendered({ status, header: undefined, entries, retrieve: true }), empty)
      return Object.getOwnPropertySymbols(entries).length
    }
    const around = rendered({ status, header: undefined, entries: [{ id: "" }], retrieve: true }) as {
      readonly items: ReadonlyArray<unknown>
    }
    const rest = JSON.stringify(around.items[0]).length
    assert.strictEqual(attached(64 * 1024 - rest), 1)
    assert.strictEqual(attached(64 * 1024 - rest + 1), 0)
  })

  it("renders the items of each retrieve, also with the same first entry", () => {
    const [a, b, c] = ["a", "b", "c"].map((id) => ({ id, title: { type: "text" as const, value: id } }))
    const idsOf = (...entries: ReadonlyArray<Entry | undefined>) => {
      const shown = entries.filter((entry) => entry !== undefined)
      const { items } = JSON.parse(renderJson({ status, header: undefined, entries: shown, retrieve: true }))
      return items.map(({ id }: { readonly id: string }) => id)
    }
    assert.deepStrictEqual(idsOf(a, b), ["a", "b"])
    assert.deepStrictEqual(idsOf(a, b), ["a", "b"])
    assert.deepStrictEqual(idsOf(a), ["a"])
    assert.deepStrictEqual(idsOf(a, b, c), ["a", "b", "c"])
    assert.deepStrictEqual(idsOf(a, c), ["a", "c"])
  })

  it("adds links by URL in a retrieve", () => {
    const entries = [{
      id: "1",
      title: text("test 2 - bis"),
      links: [{ href: "http://a.example/1", rel: "alternate" }, {
        href: "http://a.example/1.mp3",
        rel: "enclosure",
        type: "audio/mpeg"
      }]
    }]
    const answer = rendered({ status, header: undefined, entries, retrieve: true }) as {
      items: ReadonlyArray<{ links: unknown }>
    }
    assert.deepStrictEqual(answer.items[0]?.links, {
      "http://a.example/1": {
        href: "http://a.example/1",
        title: "test 2 - bis",
        rel: "alternate",
        mime_type: "text/html",
        id: "test-2-bis"
      },
      "http://a.example/1.mp3": {
        href: "http://a.example/1.mp3",
        rel: "enclosure",
        mime_type: "audio/mpeg",
        id: "test-2-bis"
      }
    })
    assert.notProperty(item({ ...entries[0], id: "1" }), "links")
  })

  it("has no key for unknown values", () => {
    assert.deepStrictEqual(item({ id: "x" }), { id: "x" })
  })

  it("is legal JSON for any texts", () => {
    const { entry, status, header } = model(hostile)
    fc.assert(
      fc.property(status, header, entry, (status, header, entry) => {
        const json = renderJson({ status, header, entries: [entry], retrieve: true })
        assert.isTrue(json.isWellFormed())
        const seen: Array<string> = []
        const read: { items: ReadonlyArray<{ id: string; title?: string }> } = JSON.parse(
          json,
          (key, value: unknown) => {
            seen.push(key, ...typeof value === "string" ? [value] : [])
            return value
          }
        )
        assert.isTrue(seen.every((value) => value === dropIllegalCharacters(value)))
        assert.strictEqual(read.items[0]?.id, dropIllegalCharacters(entry.id))
        assert.strictEqual(
          read.items[0]?.title,
          entry.title === undefined ? undefined : dropIllegalCharacters(toPlainText(entry.title))
        )
      }),
      { numRuns: 200 }
    )
  })
})
