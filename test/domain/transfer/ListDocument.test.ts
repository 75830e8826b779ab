import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { ListDocument } from "#domain/transfer/ListDocument.ts"
import type { ListLine } from "#domain/transfer/ListLine.ts"

const encode = (text: string) => new TextEncoder().encode(text)

const read = (bytes: Uint8Array | string, pieceLength = Infinity): ReadonlyArray<ListLine> => {
  const all = typeof bytes === "string" ? encode(bytes) : bytes
  const document = new ListDocument()
  const lines: Array<ListLine> = []
  const length = Math.min(pieceLength, Math.max(all.length, 1))
  for (let at = 0; at < all.length; at += length) lines.push(...document.push(all.subarray(at, at + length)))
  return [...lines, ...document.end()]
}

/** `line topic labels` of items, and the reasons of other lines. */
const brief = (bytes: Uint8Array | string, pieceLength?: number) =>
  read(bytes, pieceLength).map((line) =>
    line._tag === "Item"
      ? [line.line, line.item.topic, ...line.item.labels.filter((label) => label !== "")].join(" ")
      : `${line.line} ${line._tag}: ${line.reason}`
  )

const opml = `<?xml version="1.0" encoding="UTF-8"?>
<opml version="2.0"><head><title>Feeds</title></head>
<body>
  <outline text="News" title="News">
    <outline text="World">
      <outline type="rss" text="A &amp; B" xmlUrl="https://a.example/feed?x=1&amp;y=2" htmlUrl="https://a.example/"/>
    </outline>
    <outline type="rss" text="C" xmlurl="https://c.example/rss?a=1&b=2" category="/Tech/Linux,daily"/>
  </outline>
  <outline text="D" xmlUrl=" https://d.example/ " ></outline>
  <outline type="HTML+XPath" text="E" xmlUrl="https://e.example/"/>
  <outline text="not a feed" url="https://f.example/"/>
</body>
</opml>
`

const opmlLines = [
  "6 https://a.example/feed?x=1&y=2 News/World",
  "8 https://c.example/rss?a=1&b=2 News Tech/Linux daily",
  "10 https://d.example/",
  "11 Refused: The outline has the type \"HTML+XPath\", by which another reader makes entries of a page. Subscribe to the URL with a fragment instead."
]

describe("OPML", () => {
  it("gives its feeds with their folders and categories as labels, and the line of each", () => {
    assert.deepStrictEqual(brief(opml), opmlLines)
  })

  it("may be in another encoding", () => {
    const text =
      `<?xml version="1.0" encoding="ISO-8859-1"?><opml><body><outline text="\u00dcber"><outline xmlUrl="http://a/"/></outline></body></opml>`
    assert.deepStrictEqual(brief(Buffer.from(text, "latin1")), ["1 http://a/ \u00dcber"])
    const wide = Buffer.from(
      `\ufeff<opml><body><outline text="\u00dcber"><outline xmlUrl="http://a/"/></outline></body></opml>`,
      "utf16le"
    )
    assert.deepStrictEqual(brief(wide), ["1 http://a/ \u00dcber"])
    assert.deepStrictEqual(brief(text.replace("ISO-8859-1", "x-unknown")), ["1 http://a/ \u00dcber"])
  })

  it("keeps 16,384 characters of an attribute", () => {
    const [line] = read(
      `<opml><body><outline text="A" xmlUrl="https://a.example/${"a".repeat(20_000)}"/></body></opml>`
    )
    assert.strictEqual(line?._tag === "Item" && line.item.topic.length, 16_384)
  })

  it("tells that a document is no OPML, or is cut", () => {
    assert.deepStrictEqual(brief("<rss><channel/></rss>"), [
      "1 Fault: The XML is no OPML: it begins with <rss>. To watch a feed, subscribe to its URL."
    ])
    assert.deepStrictEqual(brief(`<opml><body>\n<outline xmlUrl="http://a/"/>\n<outline xmlU`), [
      "2 http://a/",
      "3 Fault: The document ends before </opml>: the file may be cut. The outlines before are imported."
    ])
    assert.deepStrictEqual(brief("<!-- nothing -->"), ["1 Fault: The XML has no <opml>."])
  })

  it("reads the settings of an export", () => {
    const text =
      `<opml><body><outline xmlUrl="http://a/" windhover:callback="http://b/" windhover:format="json" windhover:feedsonly="true" ` +
      `windhover:retry="days" windhover:state="paused" windhover:labels='["x, y","z"]' category="other"/>` +
      `<outline xmlUrl="http://a/" windhover:null="?lease=60" windhover:format="odd" windhover:retry="odd" windhover:labels="odd"/></body></opml>`
    assert.deepStrictEqual(read(text), [
      {
        _tag: "Item",
        line: 1,
        item: {
          topic: "http://a/",
          endpoint: "http://b/",
          format: "json",
          feedsOnly: true,
          retry: "days",
          paused: true,
          labels: ["x, y", "z"]
        }
      },
      { _tag: "Item", line: 1, item: { topic: "http://a/", nullDevice: "?lease=60", labels: [] } }
    ])
  })

  it("refuses feeds in more than 32 folders, and stops at 256 levels", () => {
    const nested = (depth: number) =>
      `<opml><body>${"<outline text=\"f\">".repeat(depth)}<outline xmlUrl="http://a/"/>${"</outline>".repeat(depth)}` +
      `<outline xmlUrl="http://b/"/></body></opml>`
    assert.deepStrictEqual(brief(nested(32)), [
      `1 http://a/ ${Array.from({ length: 32 }, () => "f").join("/")}`,
      "1 http://b/"
    ])
    assert.deepStrictEqual(brief(nested(33)), ["1 Refused: The outline is in more than 32 folders.", "1 http://b/"])
    assert.deepStrictEqual(brief(nested(254)), ["1 Fault: The document is nested deeper than 256 elements."])
  })
})

describe("lists of URLs", () => {
  it("have one URL a line, comments and empty lines", () => {
    assert.deepStrictEqual(
      brief("\ufeff# mine\r\nhttps://a.example/x,y\r\n\r\n  http://b.example/ \thttp://c/\nnonsense"),
      [
        "2 https://a.example/x,y",
        "4 http://b.example/",
        "5 nonsense"
      ]
    )
  })

  it("may be CSV with a header row", () => {
    const csv = "Title,Feed URL,Labels,Format,Callback\n" +
      "\"A, \"\"the\"\" first\",https://a.example/?q=1,\"News|Tech\",json,https://hook.example/\n" +
      "B,\"https://b.example/x,y\",,,\n" +
      "C,https://c.example/,,xml,\n" +
      "\"D,https://d.example/\n"
    assert.deepStrictEqual(brief(csv), [
      "2 https://a.example/?q=1 News Tech",
      "3 https://b.example/x,y",
      "4 Refused: The format can be json or atom.",
      "5 Refused: A quoted field does not end in its line, or text follows its end."
    ])
    const [first] = read(csv)
    assert.deepStrictEqual(first?._tag === "Item" && [first.item.endpoint, first.item.format], [
      "https://hook.example/",
      "json"
    ])
    assert.deepStrictEqual(brief("folder;url\nNews;http://a/"), ["2 http://a/ News"])
    assert.deepStrictEqual(brief("url\tfolder\nhttp://a/\tNews"), ["2 http://a/ News"])
  })

  it("lose lines that are too long", () => {
    assert.deepStrictEqual(brief(`http://a/\n${"x".repeat(300_000)}\nhttp://b/`, 10_000), [
      "1 http://a/",
      "2 Refused: The line has more than 262144 characters.",
      "3 http://b/"
    ])
  })

  it("may be empty", () => {
    assert.deepStrictEqual(brief(""), [])
    assert.deepStrictEqual(brief("\n \n"), [])
  })
})

const hubList = [
  {
    subscription: {
      format: "atom",
      endpoint: "http://my.example/ok",
      secret: null,
      feed: { title: "P", url: "http://a.example/feed" }
    }
  },
  {
    subscription: {
      format: null,
      endpoint: "http://my.example/ok",
      secret: "s",
      feed: { status: { feed: "http://b.example/#x" }, title: "[]{}\\\"" }
    }
  }
]

describe("JSON lists", () => {
  it("are read as the original service answers, as an array or in detail", () => {
    const items = [
      {
        _tag: "Item",
        line: 1,
        item: { topic: "http://a.example/feed", endpoint: "http://my.example/ok", format: "atom", labels: [] }
      },
      {
        _tag: "Item",
        line: 2,
        item: { topic: "http://b.example/#x", endpoint: "http://my.example/ok", secret: "s", labels: [] }
      }
    ]
    assert.deepStrictEqual(read(JSON.stringify(hubList)), items as never)
    const detailed = { meta: { total: 2, list: [1, [2]] }, subscriptions: hubList, more: [{ x: 1 }] }
    assert.deepStrictEqual(read(JSON.stringify(detailed, null, 2)), items as never)
  })

  it("are read from Miniflux", () => {
    const feeds = [
      { id: 1, feed_url: "http://a/", category: { title: "News" } },
      { id: 2, feed_url: "http://b/", username: "ann", password: "x" },
      { id: 3, feed_url: "http://c/", disabled: true, username: "" },
      { id: 4 },
      "http://d/",
      7
    ]
    assert.deepStrictEqual(brief(JSON.stringify(feeds)), [
      "1 http://a/ News",
      "2 Refused: The feed needs a login, which a list does not carry over. Subscribe to it by itself.",
      "3 Refused: The feed is disabled in its reader.",
      "4 Refused: The item is no subscription: it has none of \"topic\", \"subscription\" and \"feed_url\", or a wrong value.",
      "5 http://d/",
      "6 Refused: The item is no subscription: it has none of \"topic\", \"subscription\" and \"feed_url\", or a wrong value."
    ])
  })

  it("tell that they are cut, no list, or too deep", () => {
    const cut = JSON.stringify(hubList).slice(0, -10)
    assert.deepStrictEqual(brief(cut), [
      "1 http://a.example/feed",
      "1 Fault: The list ends within an item: the file may be cut. The items before are imported."
    ])
    assert.deepStrictEqual(brief("{\"meta\":{\"x\":1}}"), [
      "1 Fault: The JSON is neither a list nor an object with \"subscriptions\"."
    ])
    assert.deepStrictEqual(brief("[".repeat(100)), ["0 Fault: The JSON is nested deeper than 64 levels."])
    assert.deepStrictEqual(brief(`["http://a/"${" ".repeat(300_000)},"http://b/"]`, 9_999), [
      "1 Refused: The line has more than 262144 characters.",
      "2 http://b/"
    ])
  })
})

describe("JSON lines", () => {
  it("are subscriptions; others are skipped", () => {
    const lines = [
      { type: "export", service: "windhover", version: 1 },
      { type: "account", login: "ann" },
      {
        type: "subscription",
        topic: "http://a/",
        callback: "http://b/",
        state: "paused",
        headers: [["X", "y"]],
        labels: ["l"]
      },
      { topic: "http://c/" },
      { type: "token", name: "x" },
      { type: "end", subscriptions: 1 },
      { topic: "http://d/", format: "xml" }
    ]
    const read3 = read(lines.map((line) => JSON.stringify(line)).join("\n") + "\n{broken")
    assert.deepStrictEqual(read3.map(({ _tag }) => _tag), [
      "Skipped",
      "Skipped",
      "Item",
      "Item",
      "Skipped",
      "Skipped",
      "Refused",
      "Refused"
    ])
    assert.deepStrictEqual(read3[2], {
      _tag: "Item",
      line: 3,
      item: {
        topic: "http://a/",
        endpoint: "http://b/",
        headers: [["X", "y"]],
        paused: true,
        labels: ["l"],
        isOwn: true
      }
    })
    assert.deepStrictEqual(read3[7], { _tag: "Refused", line: 8, reason: "The line is not valid JSON." })
  })

  it("of a later version end the import", () => {
    assert.deepStrictEqual(
      brief("{\"type\":\"export\",\"version\":2}\n{\"topic\":\"http://a/\"}")[0],
      "1 Fault: The export has version 2; this service reads versions up to 1."
    )
  })
})

describe("any list", () => {
  it.each([["OPML", opml], ["URLs", "http://a/\n# x\nhttp://b/\n"], ["JSON", JSON.stringify(hubList, null, 1)]])(
    "%s gives the same lines in pieces of any length",
    (_, text) => {
      const whole = read(text)
      for (const length of [1, 2, 3, 7, 64, 1_000]) assert.deepStrictEqual(read(text, length), whole)
    }
  )

  it("ends for any input, with lines in order", () => {
    const starts = fc.constantFrom("", "<opml><body>", "[", "{\"subscriptions\":[", "{", "url,label\n")
    const tokens = fc.constantFrom(
      "<outline xmlUrl=\"http://a/\">",
      "</outline>",
      "\"",
      "{",
      "}",
      "[",
      "]",
      ",",
      "\n",
      "\\",
      "<",
      "&lol;",
      "\u0000",
      "\u00e9"
    )
    const parts = fc.array(fc.oneof(tokens, fc.string({ maxLength: 5 })), { maxLength: 60 })
    fc.assert(fc.property(starts, parts, fc.integer({ min: 1, max: 50 }), (start, rest, length) => {
      const text = start + rest.join("")
      const lines = read(text, length)
      assert.deepStrictEqual(lines, read(text))
      for (const [i, { line }] of lines.entries()) assert.isAtLeast(line, lines[i - 1]?.line ?? 0)
    }))
  })
})
