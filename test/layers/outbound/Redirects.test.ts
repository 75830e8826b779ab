import { assert, describe, it } from "@effect/vitest"
import {
  authorizationOf,
  distinctLocations,
  isPermanent,
  isRedirect,
  mayReceiveCredentials,
  redirectTarget,
  withoutCredentials
} from "#layers/outbound/Redirects.ts"

describe("Redirects", () => {
  const from = new URL("https://example.org/a/feed.xml?x=1")

  it("resolves a Location against the URL that sent it", () => {
    assert.strictEqual(redirectTarget("/b", from)?.href, "https://example.org/b")
    assert.strictEqual(redirectTarget("b", from)?.href, "https://example.org/a/b")
    assert.strictEqual(redirectTarget("?y", from)?.href, "https://example.org/a/feed.xml?y")
    assert.strictEqual(redirectTarget("//other.org/", from)?.href, "https://other.org/")
    assert.strictEqual(redirectTarget("  http://other.org/ ", from)?.href, "http://other.org/")
  })

  it("counts repeats of a Location as one, by their target", () => {
    assert.deepStrictEqual(distinctLocations(undefined, from), [])
    assert.deepStrictEqual(distinctLocations("", from), [])
    assert.deepStrictEqual(distinctLocations("/b", from), ["/b"])
    assert.deepStrictEqual(distinctLocations(["/b", "", "/b "], from), ["/b"])
    assert.deepStrictEqual(distinctLocations(["/b", "https://EXAMPLE.org/b#x"], from), ["/b"])
    assert.deepStrictEqual(distinctLocations(["/b", "/c", "/b"], from), ["/b", "/c"])
    assert.deepStrictEqual(distinctLocations(["ftp://h/", "ftp://h/"], from), ["ftp://h/"])
    assert.deepStrictEqual(distinctLocations(["ftp://h/", "/b"], from), ["ftp://h/", "/b"])
  })

  it("drops fragment and credentials of a Location", () => {
    assert.strictEqual(redirectTarget("https://eve:secret@other.org/#top", from)?.href, "https://other.org/")
  })

  it("accepts http and https targets only", () => {
    for (
      const location of [
        "file:///etc/passwd",
        "ftp://h/",
        "javascript:1",
        "data:,x",
        "gopher://h",
        "http://",
        "http://[::1"
      ]
    ) {
      assert.isUndefined(redirectTarget(location, from), location)
    }
  })

  it("reads a Location as UTF-8, and as Latin-1 if it is not UTF-8", () => {
    const bytes = (text: string, encoding: BufferEncoding) => Buffer.from(text, encoding).toString("latin1")
    assert.strictEqual(redirectTarget(bytes("/größe", "utf8"), from)?.pathname, "/gr%C3%B6%C3%9Fe")
    assert.strictEqual(redirectTarget(bytes("/größe", "latin1"), from)?.pathname, "/gr%C3%B6%C3%9Fe")
  })

  it("knows the permanent redirects", () => {
    assert.deepStrictEqual([300, 301, 302, 303, 304, 307, 308].filter(isRedirect), [301, 302, 303, 307, 308])
    assert.deepStrictEqual([301, 302, 303, 307, 308].filter(isPermanent), [301, 308])
  })

  it("makes Basic credentials from the percent-decoded userinfo", () => {
    const basic = (text: string) => `Basic ${Buffer.from(text).toString("base64")}`
    assert.strictEqual(authorizationOf(new URL("http://a:b@h/")), basic("a:b"))
    assert.strictEqual(authorizationOf(new URL("http://a%40b:%C3%BC%3A@h/")), basic("a@b:ü:"))
    assert.strictEqual(authorizationOf(new URL("http://token@h/")), basic("token:"))
    assert.strictEqual(authorizationOf(new URL("http://100%@h/")), basic("100%:"))
    assert.isUndefined(authorizationOf(new URL("http://h/")))
  })

  it("sends credentials to their own origin and its https side only", () => {
    const may = (credentialed: string, target: string) => mayReceiveCredentials(new URL(credentialed), new URL(target))
    assert.isTrue(may("http://u:p@h/a", "http://h/b"))
    assert.isTrue(may("http://u:p@h/a", "https://h/b"))
    assert.isFalse(may("https://u:p@h/a", "http://h/a"))
    assert.isFalse(may("http://u:p@h/a", "http://h:81/a"))
    assert.isFalse(may("http://u:p@h:81/a", "https://h/a"))
    assert.isFalse(may("http://u:p@h/a", "http://sub.h/a"))
    assert.isFalse(may("http://u:p@h/a", "https://other/a"))
  })

  it("shows URLs without credentials and fragment", () => {
    assert.strictEqual(withoutCredentials(new URL("https://u:p@h/a?b#c")).href, "https://h/a?b")
  })
})
