import { assert, describe, it } from "@effect/vitest"
import { Headers } from "effect/http"
import { isFromOtherSite } from "#http/CrossSite.ts"

const form = "application/x-www-form-urlencoded"
const evil = "https://evil.example"

describe("CrossSite", () => {
  const requests: ReadonlyArray<readonly [expected: boolean, method: string, headers: Record<string, string>]> = [
    // HTTPS and localhost: the browser tells the site and the mode
    [true, "POST", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "content-type": form }],
    [true, "POST", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "content-type": "text/plain" }],
    [true, "GET", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }],
    [true, "GET", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }],
    [true, "GET", { "sec-fetch-site": "cross-site" }],
    [false, "POST", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "cors", origin: evil, "content-type": form }],
    [false, "POST", { "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate", origin: evil }],
    [false, "GET", { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" }],
    [true, "POST", { "sec-fetch-site": "same-site", "sec-fetch-mode": "navigate", origin: evil, "content-type": form }],
    [false, "GET", { "sec-fetch-site": "same-site", "sec-fetch-mode": "navigate" }],
    // plain HTTP: a POST has its origin alone
    [true, "POST", { origin: evil, "content-type": form }],
    [true, "POST", { origin: evil, "content-type": `${form.toUpperCase()}; charset=UTF-8` }],
    [true, "POST", { origin: evil, "content-type": "multipart/form-data; boundary=x" }],
    [true, "POST", { origin: evil, "content-type": "text/plain" }],
    [true, "POST", { origin: evil }],
    [true, "POST", { origin: "null", "content-type": form }],
    [true, "POST", { origin: "http://push.example:8080", "content-type": form }],
    [false, "POST", { origin: evil, "content-type": "application/json" }],
    [false, "POST", { origin: "https://push.example", "content-type": form }],
    [false, "POST", { origin: "http://127.0.0.1:8080", host: "127.0.0.1:8080", "content-type": form }],
    [true, "GET", { referer: "http://evil.example/page" }],
    [true, "POST", { referer: "http://evil.example/page", "content-type": form }],
    [false, "GET", { referer: "http://push.example/docs", host: "push.example" }],
    [false, "GET", { referer: "http://evil.example/page", origin: evil }],
    // clients that are no browsers
    [false, "POST", { "content-type": form }],
    [false, "GET", {}],
    [false, "GET", { origin: evil }]
  ]

  for (const [expected, method, headers] of requests) {
    it(`${expected ? "recognizes" : "passes"} ${method} with ${JSON.stringify(headers)}`, () => {
      const request = { method, headers: Headers.fromInput(headers) }
      assert.strictEqual(isFromOtherSite(request, "https://push.example"), expected)
    })
  }
})
