import { assert, describe, it } from "@effect/vitest"
import { addSource } from "#domain/render/EntrySource.ts"

const topic = "https://news.example/rss"
const title = { value: "News", type: "text" }

describe("the source of an entry", () => {
  it("is its feed: id, title, time, authors, and links with the topic as self", () => {
    const own = { rel: "self", href: "https://news.example/canonical" }
    const page = { rel: "alternate", href: "https://news.example/" }
    const header = {
      id: "urn:news",
      title,
      updated: 5,
      links: [page, own],
      authors: [{ name: "Ann" }],
      subtitle: title
    }
    assert.deepStrictEqual(addSource({ id: "a" }, header, topic), {
      id: "a",
      source: {
        id: "urn:news",
        title,
        updated: 5,
        links: [{ rel: "self", href: topic }, page, { ...own, rel: "canonical" }],
        authors: [{ name: "Ann" }]
      }
    })
    assert.deepStrictEqual(addSource({ id: "a" }, undefined, topic).source, {
      id: topic,
      links: [{ rel: "self", href: topic }]
    })
  })

  it("stays the publisher's, with the feed as a via link", () => {
    const source = { id: "urn:origin", title, links: [{ rel: "self", href: "https://origin.example/rss" }] }
    const via = { rel: "via", href: topic }
    assert.deepStrictEqual(addSource({ id: "a", source }, { title }, topic).source, {
      ...source,
      links: [...source.links, via]
    })
    assert.deepStrictEqual(addSource({ id: "a", source: { title } }, undefined, topic).source, { title, links: [via] })
    const marked = { links: [{ rel: "self", href: topic }] }
    assert.deepStrictEqual(addSource({ id: "a", source: marked }, undefined, topic).source, marked)
  })
})
