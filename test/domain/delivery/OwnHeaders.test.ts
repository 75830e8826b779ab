import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { check, type OwnHeader } from "#domain/delivery/OwnHeaders.ts"

const outcome = (...headers: ReadonlyArray<OwnHeader>) =>
  Result.match(check(headers, "X-Superfeedr-"), {
    onSuccess: (accepted): unknown => accepted,
    onFailure: ({ message }) => message
  })

const numbered = (count: number, value = "v") =>
  Array.from({ length: count }, (_, number): OwnHeader => [`X-${number}`, value])

describe("OwnHeaders", () => {
  it("accepts legal headers without the space around their values, and leaves out empty ones", () => {
    assert.deepStrictEqual(
      outcome(["Authorization", " Bearer a\tb \t"], ["x_Y-9", "~ !"], ["X-Gone", " "]),
      [
        ["Authorization", "Bearer a\tb"],
        ["x_Y-9", "~ !"]
      ]
    )
    assert.deepStrictEqual(outcome(["Authorization", ""]), [])
    assert.deepStrictEqual(outcome(...numbered(10)), numbered(10))
  })

  it("reads a value of spaces once", () => {
    const started = performance.now()
    outcome(["X-A", `a${" ".repeat(1_000_000)}b`])
    assert.isBelow(performance.now() - started, 1_000)
  })

  it.each([
    "Host",
    "content-type",
    "Content-Anything",
    "CONNECTION",
    "Keep-Alive",
    "Transfer-Encoding",
    "TE",
    "Trailer",
    "Upgrade",
    "Expect",
    "Proxy-Authorization",
    "Cookie",
    "Set-Cookie",
    "Webhook-Id",
    "webhook-anything",
    "X-Hub-Signature",
    "X-PubSubHubbub-Topic",
    "X-Windhover-Sequence",
    "X-Service-Credits",
    "x-superfeedr-credits",
    "X-Forwarded-For",
    "Forwarded",
    "Via",
    "Link",
    "User-Agent",
    "Date",
    "X-HTTP-Method-Override",
    "X_Hub-Signature",
    "content_length"
  ])("refuses %s", (name) => {
    assert.strictEqual(
      outcome([name, "secret value"]),
      `hub.header[${name}] cannot be set: the header belongs to HTTP, to a proxy or to Windhover; choose another name.`
    )
  })

  it.each(["", "a b", "a:", "a\r\nB", "ä", "a\0", "(x)", "a/b", "a@b", "a.b"])("refuses the name %j", (name) => {
    assert.strictEqual(
      outcome([name, "secret value"]),
      `hub.header[NAME] needs a name of letters, digits, hyphens and underscores, without further brackets; received ${
        JSON.stringify(name)
      }.`
    )
  })

  it.each(["\r", "\n", "\r\nX-Evil: 1", "\0", "a\n"])("refuses the line break or NUL in %j", (value) => {
    const problem = "The value of hub.header[X-A] holds a line break or NUL; a header has one line."
    assert.strictEqual(outcome(["X-A", value]), problem)
  })

  it("refuses other control characters, DEL and letters outside of ASCII", () => {
    for (const value of ["\u0001", "\u007f", "ü", "\u{1f985}", "\u2028"]) {
      assert.match(String(outcome(["X-A", value])), /^The value of hub\.header\[X-A\] holds a character that no header/)
    }
  })

  it("refuses colliding names, the eleventh header, and byte 4,097", () => {
    assert.strictEqual(
      outcome(["X-A", "1"], ["x-a", "2"]),
      "hub.header[x-a] is named twice, in other letters; send it once."
    )
    assert.strictEqual(outcome(...numbered(11)), "hub.header names 11 headers; at most 10 are accepted.")
    assert.deepStrictEqual(outcome(["X-A", "v".repeat(4_093)]), [["X-A", "v".repeat(4_093)]])
    assert.strictEqual(
      outcome(["X-A", "v".repeat(4_094)]),
      "The headers of hub.header have 4097 bytes together; at most 4096 are accepted."
    )
  })

  it("accepts only one-line values of token names, and never repeats a refused value", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary", minLength: 8 }), (name, value) => {
      const found = outcome([name, value])
      if (typeof found !== "string") {
        for (const [accepted, text] of found as ReadonlyArray<OwnHeader>) {
          assert.match(`${accepted}: ${text}`, /^[^\s:]+: [\t\x20-\x7e]+$/)
        }
      } else if (!name.includes(value)) assert.isFalse(found.includes(value))
    }))
  })
})
