import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parse } from "#domain/Callback.ts"

const sentence = (given: string): string =>
  Result.match(parse(given), { onSuccess: () => "accepted", onFailure: (refusal) => refusal.message })

describe("Callback", () => {
  it("keeps what was written and lower-cases the host", () => {
    assert.deepStrictEqual(
      parse("https://Reader.Example:8443/push?id=1"),
      Result.succeed({ given: "https://Reader.Example:8443/push?id=1", host: "reader.example" })
    )
  })

  it("accepts 2048 characters and refuses 2049", () => {
    const base = "http://reader.example/"
    assert.strictEqual(sentence(base.padEnd(2048, "x")), "accepted")
    assert.strictEqual(sentence(base.padEnd(2049, "x")), "hub.callback has 2049 characters; at most 2048 are accepted.")
    assert.strictEqual(
      sentence(base.padEnd(1500, "é")),
      `hub.callback has ${3000 - base.length} bytes in UTF-8; at most 2048 are accepted.`
    )
  })

  it("says what is wrong with what is no web address", () => {
    assert.strictEqual(
      sentence(""),
      "Please provide a hub.callback: the http or https URL that notifications are posted to."
    )
    assert.strictEqual(
      sentence("reader.example/push"),
      "hub.callback is not a URL: received \"reader.example/push\"; an absolute http or https URL is needed."
    )
    assert.strictEqual(
      sentence("ftp://reader.example/"),
      "hub.callback has the scheme \"ftp:\"; notifications go to http and https URLs only."
    )
  })

  it("refuses a line break, which would forge a header of the notification", () => {
    assert.strictEqual(
      sentence("http://reader.example/\r\nX-Forged: 1"),
      "hub.callback holds a control character: received \"http://reader.example/\\r\\nX-Forged: 1\"; percent-encode it."
    )
  })
})
