import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { Caller, Right } from "#domain/Account.ts"
import type { BriefItem } from "#domain/ports/SubscriptionStore.ts"
import { renderList } from "#http/api/ListResponse.ts"

const items: ReadonlyArray<BriefItem> = [{
  subscription: { topic: "https://feed.example/", endpoint: "https://callback.example/", secret: "the secret" },
  resource: { kind: "feed" }
}]

const callerWith = (...rights: ReadonlyArray<Right>) => ({ rights: new Set(rights) }) as unknown as Caller

const secretFor = (caller: Caller) =>
  Effect.promise(async () => {
    const response = renderList(items, { caller, ifNoneMatch: undefined, jsonp: undefined })
    const [first] = JSON.parse(await HttpServerResponse.toWeb(response).text())
    return first.subscription.secret
  })

describe("ListResponse", () => {
  it.effect("shows the secret of a shared read to callers with the right alone, in any order", () =>
    Effect.gen(function*() {
      const [reader, subscriber] = [callerWith("list"), callerWith("list", "subscribe")]
      const secrets = yield* Effect.forEach([subscriber, reader, subscriber, reader], secretFor)
      assert.deepStrictEqual(secrets, ["the secret", null, "the secret", null])
    }))

  it("renders a shared list once, unless its text has more than 64 KiB", () => {
    const rendered = (topicLength: number) => {
      let renderings = 0
      const subscription = {
        endpoint: "https://callback.example/",
        get topic() {
          renderings++
          return "t".repeat(topicLength)
        }
      }
      const list: ReadonlyArray<BriefItem> = [{ subscription, resource: { kind: "feed" } }]
      for (let i = 0; i < 2; i++) {
        renderList(list, { caller: callerWith("list"), ifNoneMatch: undefined, jsonp: undefined })
      }
      return renderings
    }
    const names = JSON.stringify([{
      subscription: {
        format: "atom",
        endpoint: "https://callback.example/",
        secret: null,
        feed: { title: null, url: "" }
      }
    }])
    assert.strictEqual(rendered(64 * 1024 - names.length), 1)
    assert.strictEqual(rendered(64 * 1024 - names.length + 1), 2)
  })
})
