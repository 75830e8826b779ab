import { assert, describe, it } from "@effect/vitest"
import { hasCredentials, maskCredentials } from "#domain/UrlCredentials.ts"

describe("the credentials of URLs", () => {
  it.each([
    ["http://ann:pw@feeds.example/a", "http://***@feeds.example/a"],
    ["HTTPS://ann:p@w@feeds.example/", "HTTPS://***@feeds.example/"],
    ["https://token@feeds.example", "https://***@feeds.example"],
    ["http:ann:pw@feeds.example/", "http:***@feeds.example/"],
    ["http:/ann:pw@feeds.example/", "http:/***@feeds.example/"],
    ["http:\\\\ann:pw@feeds.example/", "http:\\\\***@feeds.example/"],
    ["http://///ann:pw@feeds.example/", "http://///***@feeds.example/"],
    ["https://proxy.example/http://ann:pw@feeds.example/", "https://proxy.example/http://***@feeds.example/"]
  ])("%s are masked", (url, masked) => {
    assert.deepStrictEqual([hasCredentials(url), maskCredentials(url)], [true, masked])
  })

  it.each([
    "http://feeds.example/a@b",
    "http://feeds.example/////a@b/",
    "http://feeds.example/?to=ann@feeds.example",
    "http://feeds.example/#//ann@b",
    "mail to ann@feeds.example"
  ])("%s has none", (text) => {
    assert.deepStrictEqual([hasCredentials(text), maskCredentials(text)], [false, text])
  })

  it("are found in a text of several URLs, in time", () => {
    assert.strictEqual(
      maskCredentials("GET http://a:b@c/ led to postgres://u:p@d/e."),
      "GET http://***@c/ led to postgres://***@d/e."
    )
    const startedAt = process.cpuUsage()
    for (const text of ["/", "a", ":", "http:", "//", "@", "a:"]) maskCredentials(text.repeat(500_000))
    assert.isBelow(process.cpuUsage(startedAt).user, 2_000_000)
  })
})
