import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { parse } from "#domain/Topic.ts"

describe("Topic", () => {
  it("refuses control characters, which URL parsing would drop and a header would not", () => {
    assert.strictEqual(
      Result.match(parse("http://feeds.example/\r\nX-Forged: 1"), {
        onSuccess: () => "accepted",
        onFailure: (refusal) => refusal.message
      }),
      "Please provide a valid hub.topic (feed) URL that is accepted on this hub. hub.topic holds a control character: " +
        "received \"http://feeds.example/\\r\\nX-Forged: 1\"; percent-encode it."
    )
  })

  it.each([["topic", "topic"], ["--topic", "--topic"], ["node", "node"], ["hub.topic", "hub.topic"], [
    "hub.url",
    "hub.topic"
  ]])("names the parameter %s as %s in the common sentence", (parameter, named) => {
    assert.strictEqual(
      Result.match(parse("%ff", parameter), { onSuccess: () => "accepted", onFailure: ({ message }) => message }),
      `Please provide a valid ${named} (feed) URL that is accepted on this hub. ` +
        `${parameter} is not a URL: received "%ff"; an absolute http or https URL is needed.`
    )
  })
})
