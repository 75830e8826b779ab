import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { format, isInRange, parse, parseLine } from "#domain/Search.ts"

const read = (key: string, text: string) =>
  Result.match(parse([[key, text]], "search"), { onSuccess: (search) => search, onFailure: ({ message }) => message })

describe("Search", () => {
  it.each(
    [
      ["format", "ATOM", { format: "atom" }],
      ["feed.url", "HTTP://Feeds.example:80/a?B", { feedUrl: "http://feeds.example/a?B" }],
      ["feed.inurl", "50%_Off", { feedInurl: "50%_Off" }],
      ["feed.hostname", "Feeds.EXAMPLE", { feedHostname: "feeds.example" }],
      ["feed.hostname", "bücher.example", { feedHostname: "xn--bcher-kva.example" }],
      ["feed.hostname", "[::1]", { feedHostname: "[::1]" }],
      ["endpoint.jid", "Ann@Jabber.example/desk", { endpointJid: "ann@jabber.example" }],
      ["endpoint.jid", "ann@xn--mnchen-3ya.example", { endpointJid: "ann@münchen.example" }],
      ["endpoint.jid", "no jid at all", { endpointJid: "no jid at all" }],
      ["endpoint.domain", "Jabber.example", { endpointDomain: "jabber.example" }],
      ["endpoint.domain", "xn--mnchen-3ya.example", { endpointDomain: "münchen.example" }],
      ["endpoint.domain", "München.example", { endpointDomain: "münchen.example" }],
      ["endpoint.url", "HTTP://Hooks.example:80/a", { endpointUrl: "HTTP://Hooks.example:80/a" }],
      ["endpoint.inurl", "hook", { endpointInurl: "hook" }],
      ["endpoint.hostname", "hooks.example", { endpointHostname: "hooks.example" }]
    ] as const
  )("%s=%s is read", (key, text, expected) => {
    assert.deepStrictEqual(read(key, text), { ranks: [], ...expected })
  })

  it.each(
    [
      ["12", "=", 12],
      ["=1.5", "=", 1.5],
      [">0.5", ">", 0.5],
      [">= 3", ">=", 3],
      ["<=-1", "<=", -1],
      [" < 1e3 ", "<", 1000]
    ] as const
  )("a rank can be %s", (text, relation, value) => {
    for (const rank of ["velocity", "bozo", "porn", "popularity"] as const) {
      assert.deepStrictEqual(read(`feed.${rank}`, text), { ranks: [{ rank, range: { relation, value } }] })
    }
  })

  it.each([
    ["format", "xml", "search[format] can be json or atom; received \"xml\"."],
    ["feed.url", "feeds", "search[feed.url] has to be the URL of a feed, whole; received \"feeds\"."],
    ["feed.inurl", "ab", "search[feed.inurl] has to have 3 characters or more; received \"ab\"."],
    [
      "endpoint.inurl",
      "://a",
      "search[endpoint.inurl] has to have two letters or digits side by side; received \"://a\"."
    ],
    [
      "feed.hostname",
      "feeds.example:8080",
      "search[feed.hostname] has to be the name of a host, without scheme, port and path; received \"feeds.example:8080\"."
    ],
    [
      "endpoint.hostname",
      "http://a/",
      "search[endpoint.hostname] has to be the name of a host, without scheme, port and path; received \"http://a/\"."
    ],
    [
      "feed.velocity",
      "=>3",
      "search[feed.velocity] has to be a number, or one behind >, >=, <= or <; received \"=>3\"."
    ],
    ["feed.bozo", "1e999", "search[feed.bozo] has to be a number, or one behind >, >=, <= or <; received \"1e999\"."],
    ["endpoint.url", "x".repeat(2049), "search[endpoint.url] has 2049 characters; at most 2048 are accepted."],
    [
      "feed.title",
      "x",
      "search has no key \"feed.title\"; there are format, label, feed.url, feed.inurl, feed.hostname, feed.velocity, feed.bozo, feed.porn, " +
      "feed.popularity, endpoint.jid, endpoint.domain, endpoint.url, endpoint.inurl, endpoint.hostname, feed.failing, feed.code, " +
      "endpoint.failing, deliveries.dropped."
    ],
    ["feed.failing", "yes", "search[feed.failing] can be true or false; received \"yes\"."],
    ["deliveries.dropped", "some", "search[deliveries.dropped] has to be a number, or one behind >, >=, <= or <;"],
    ["__proto__", "x", "search has no key \"__proto__\";"],
    ["constructor", "x", "search has no key \"constructor\";"]
  ])("%s=%s is refused", (key, text, expected) => {
    assert.strictEqual(String(read(key, text)).slice(0, expected.length), expected)
  })

  it("a search is formatted as the keys that it was read from", () => {
    const sent = [
      ["format", "json"],
      ["label", "News"],
      ["feed.url", "https://a.example/"],
      ["endpoint.hostname", "b.example"],
      [
        "feed.velocity",
        ">=5"
      ],
      ["feed.bozo", "=0"],
      ["feed.code", ">=400"],
      ["deliveries.dropped", ">0"]
    ] as const
    assert.deepStrictEqual(format(Result.getOrThrow(parse(sent, "search"))), sent)
  })

  it("flags are formatted as they are read", () => {
    const sent = [["feed.failing", "true"], ["endpoint.failing", "false"]] as const
    const search = Result.getOrThrow(parse(sent, "search"))
    assert.deepStrictEqual(search, { ranks: [], feedFailing: true, endpointFailing: false })
    assert.deepStrictEqual(format(search), sent)
  })

  it("several keys are one search", () => {
    const search = parse([["feed.velocity", ">1"], ["feed.bozo", "<1"], ["format", "json"]], "search")
    assert.deepStrictEqual(Result.getOrThrow(search), {
      format: "json",
      ranks: [
        { rank: "velocity", range: { relation: ">", value: 1 } },
        { rank: "bozo", range: { relation: "<", value: 1 } }
      ]
    })
  })

  it("a rank that is not known counts as 0", () => {
    const of = (text: string) => {
      const range = Result.getOrThrow(parse([["feed.porn", text]], "search")).ranks[0]?.range ?? assert.fail()
      return [undefined, 0, 0.5, 1].map((rank) => isInRange(rank, range))
    }
    assert.deepStrictEqual(of("0"), [true, true, false, false])
    assert.deepStrictEqual(of("<0.5"), [true, true, false, false])
    assert.deepStrictEqual(of("<=0.5"), [true, true, true, false])
    assert.deepStrictEqual(of(">0.5"), [false, false, false, true])
    assert.deepStrictEqual(of(">=0.5"), [false, false, true, true])
  })
})

const readLine = (line: string) =>
  Result.match(parseLine(line, "search"), { onSuccess: (search) => search, onFailure: ({ message }) => message })

describe("a search in one line", () => {
  it("has keys with their texts, and other words as parts of the URL", () => {
    assert.deepStrictEqual(readLine("  feed.failing:true \t Feed.Hostname=A.example\nkestrel "), {
      ranks: [],
      feedFailing: true,
      feedHostname: "a.example",
      feedInurl: "kestrel"
    })
    assert.deepStrictEqual(readLine("feed.velocity:>3 deliveries.dropped:>0"), {
      ranks: [{ rank: "velocity", range: { relation: ">", value: 3 } }],
      dropped: { relation: ">", value: 0 }
    })
    assert.deepStrictEqual(readLine("label:News"), { ranks: [], label: "News" })
    assert.deepStrictEqual(readLine(" "), { ranks: [] })
    assert.deepStrictEqual(readLine("https://a.example/feed?a=1"), {
      ranks: [],
      feedInurl: "https://a.example/feed?a=1"
    })
    assert.deepStrictEqual(readLine("tag:a"), { ranks: [], feedInurl: "tag:a" })
    assert.deepStrictEqual(readLine("feed.url:https://a.example/x:y"), { ranks: [], feedUrl: "https://a.example/x:y" })
  })

  it("refuses unknown keys, wrong texts and short words", () => {
    assert.match(String(readLine("feed.colour:red")), /^search has no key "feed\.colour"; there are format, label, /)
    assert.match(String(readLine("feed.failing:perhaps")), /^search\[feed\.failing\] .*received "perhaps"\.$/)
    assert.match(String(readLine("ab")), /^search\[feed\.inurl\] /)
  })

  it("takes no second for a long line of odd signs", () => {
    const began = performance.now()
    for (const line of ["a.".repeat(50_000), ":".repeat(100_000), " ".repeat(100_000) + "x", "feed".repeat(25_000)]) {
      readLine(line)
    }
    assert.isBelow(performance.now() - began, 1_000)
  })
})
