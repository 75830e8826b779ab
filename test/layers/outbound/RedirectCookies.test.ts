import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { RedirectCookies } from "#layers/outbound/RedirectCookies.ts"

/** The `Cookie` field for a URL, after a response from another URL set these cookies. */
const sent = (from: string, to: string, ...fields: ReadonlyArray<string>): string => {
  const cookies = new RedirectCookies()
  cookies.add(fields, new URL(from))
  return cookies.fieldFor(new URL(to))
}

describe("The cookies of a fetch", () => {
  it.each<[field: string, from: string, to: string, cookie: string]>([
    ["a=1", "http://a.example/", "http://a.example/x", "a=1"],
    ["a=1", "http://a.example/", "http://b.example/", ""],
    ["a=1", "http://a.example/", "http://www.a.example/", ""],
    ["a=1", "http://a.example:81/", "http://a.example:82/", "a=1"],
    ["a=1; Domain=a.example", "http://www.a.example/", "http://feeds.a.example/", "a=1"],
    ["a=1; Domain=.a.example", "http://www.a.example/", "http://a.example/", "a=1"],
    ["a=1; Domain=b.example", "http://a.example/", "http://b.example/", ""],
    ["a=1; Domain=com", "http://a.com/", "http://b.com/", ""],
    ["a=1; Domain=github.io", "http://a.github.io/", "http://b.github.io/", ""],
    ["a=1; Path=/feeds", "http://a.example/", "http://a.example/feeds/x", "a=1"],
    ["a=1; Path=/feeds", "http://a.example/", "http://a.example/feedstuff", ""],
    ["a=1", "http://a.example/check/x", "http://a.example/feed", ""],
    ["a=1; Secure", "https://a.example/", "https://a.example/", "a=1"],
    ["a=1; Secure", "https://a.example/", "http://a.example/", ""],
    ["a=1; Secure", "http://127.0.0.1/", "http://127.0.0.1/", ""],
    ["a=1; HttpOnly; SameSite=Strict", "http://a.example/", "http://a.example/", "a=1"],
    ["a=1; Max-Age=0", "http://a.example/", "http://a.example/", ""],
    ["a=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT", "http://a.example/", "http://a.example/", ""],
    ["a=1; Path=/", "http://127.0.0.1/x", "http://127.0.0.1/", "a=1"],
    ["a=1; Path=/", "http://[2001:db8::1]/", "http://[2001:db8::1]/", "a=1"],
    ["token", "http://a.example/", "http://a.example/", "token"],
    ["", "http://a.example/", "http://a.example/", ""],
    ["a=\u00e9", "http://a.example/", "http://a.example/", "a=\u00e9"]
  ])("with %j from %s go to %s as %j", (field, from, to, cookie) => {
    assert.strictEqual(sent(from, to, field), cookie)
  })

  it("replace each other by name, and come back together", () => {
    const cookies = new RedirectCookies()
    const url = new URL("http://a.example/")
    cookies.add(["a=1", "b=2"], url)
    cookies.add("a=3", url)
    assert.deepStrictEqual(cookies.fieldFor(url).split("; ").toSorted(), ["a=3", "b=2"])
    cookies.add("b=; Max-Age=0", url)
    assert.strictEqual(cookies.fieldFor(url), "a=3")
  })

  it("are at most 50, of 4,096 characters each and 16,384 in all", () => {
    const url = "http://a.example/"
    const count = (fields: ReadonlyArray<string>) =>
      sent(url, url, ...fields).split("; ").filter((one) => one !== "").length
    const many = (length: number, each: number) => Array.from({ length }, (_, i) => `n${i}=`.padEnd(each, "x"))
    assert.deepStrictEqual([count(many(50, 10)), count(many(51, 10)), count(many(500, 10))], [50, 50, 50])
    assert.deepStrictEqual([count(many(1, 4_096)), count(many(1, 4_097))], [1, 0])
    assert.deepStrictEqual([count(many(4, 4_096)), count(many(5, 4_096))], [4, 4])
    const cookies = new RedirectCookies()
    for (const field of many(500, 10)) cookies.add(field, new URL(url))
    assert.strictEqual(cookies.fieldFor(new URL(url)).split("; ").length, 50)
  })

  it("never fail, whatever a server sends", () => {
    const piece = fc.constantFrom(
      "a",
      "=",
      ";",
      ",",
      " ",
      "\"",
      "%",
      "%E0",
      "Domain",
      "Path",
      "Expires",
      "..",
      "\t",
      "\u00ff"
    )
    const path = fc.array(fc.constantFrom("/", "%", "%E0%A4", "a", "?", ";", "[")).map((parts) => parts.join(""))
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 30 }), path, (parts, to) => {
        const url = new URL(`http://a.example/${to}`)
        assert.isString(sent("http://a.example/", url.href, parts.join("")))
      })
    )
  })
})
