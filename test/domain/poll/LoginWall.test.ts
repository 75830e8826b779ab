import { assert, describe, it } from "@effect/vitest"
import { isLoginWall, locationOf, sameLocation } from "#domain/poll/LoginWall.ts"

const asked = "https://news.example/list"
const form = "<html><form><input name=user><INPUT\n name=pass type='Password'></form>"

const wall = (
  finalUrl: string,
  page = "<html>",
  known: { before?: string | undefined; permanent?: true } = {}
) =>
  isLoginWall(asked, "before" in known ? known.before : sameLocation, {
    finalUrl,
    body: new TextEncoder().encode(page),
    ...(known.permanent === true ? { permanentUrl: finalUrl } : {})
  })

describe("Wall", () => {
  it("knows the place that redirects lead to, without what one page is reached with and without", () => {
    assert.strictEqual(locationOf("http://a.example/x", "https://www.a.example/x/?session=1"), sameLocation)
    assert.strictEqual(locationOf("http://a.example/x", "https://a.example/en/x?y"), "a.example/en/x")
    assert.strictEqual(locationOf("http://a.example/", `http://a.example/${"x".repeat(9_000)}`)?.length, 500)
  })

  it("is a page of another site, or one that asks for a password, where no redirect led before", () => {
    assert.isTrue(wall("https://login.hotel.example/?to=x"))
    assert.isTrue(wall("https://news.example/login", form))
    assert.isTrue(wall("https://id.news.example/", "<input type=password>"))
    assert.isFalse(wall("https://news.example/en/list"))
    assert.isFalse(wall(asked, form))
    assert.isFalse(wall("https://news.example/search", "<input type=text placeholder='type=password'>"))
  })

  it("is no page where one was redirected before, nor one that this has moved to for good", () => {
    assert.isFalse(wall("https://news.example/2026/11/28", form, { before: "news.example/2026/11/27" }))
    assert.isFalse(wall("https://cdn2.files.example/b", "<html>", { before: "cdn1.files.example/a" }))
    assert.isFalse(wall("https://other.example/", "<html>", { before: "cdn1.files.example/a" }))
    assert.isFalse(wall("https://other.example/", "<html>", { before: undefined }))
    assert.isFalse(wall("https://new.example/list", form, { permanent: true }))
  })

  it("takes no longer for a page that is made of fields", () => {
    assert.isFalse(wall("https://news.example/login", "<input ".repeat(1_000_000)))
    assert.isFalse(wall("https://news.example/login", `<input ${"type ".repeat(50_000)}`))
  })
})
