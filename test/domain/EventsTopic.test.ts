import { assert, describe, it } from "@effect/vitest"
import { accountOfEvents, eventsTopicOf, eventsUrl, isEvents, isEventsUrl, resolveEvents } from "#domain/EventsTopic.ts"
import * as Topic from "#domain/Topic.ts"

const topic = (given: string): Topic.Topic => {
  const parsed = Topic.parse(given)
  if (parsed._tag === "Failure") throw parsed.failure
  return parsed.success
}

describe("EventsTopic", () => {
  it("is the same in every spelling of the base URL", () => {
    const base = "https://hub.example/push"
    for (
      const url of [
        "https://hub.example/push/events",
        "https://hub.example/push/events/",
        "https://HUB.Example./push//events",
        "http://hub.example/push/events"
      ]
    ) {
      if (url.startsWith("http:")) assert.isTrue(isEventsUrl(topic(url).canonical, "http://hub.example/push/"), url)
      else assert.isTrue(isEventsUrl(topic(url).canonical, base), url)
    }
    for (
      const url of [
        "https://hub.example/events",
        "https://hub.example/push/events/7",
        "https://hub.example/push/eventsx",
        "https://hub.example:8443/push/events",
        "https://other.example/push/events",
        "https://hub.example/push"
      ]
    ) assert.isFalse(isEventsUrl(topic(url).canonical, base), url)
    assert.strictEqual(eventsUrl("https://hub.example/push//"), "https://hub.example/push/events")
  })

  it("stands for a resource of its own in each account, and keeps its spelling", () => {
    const given = "https://HUB.example/events/"
    assert.deepStrictEqual(resolveEvents(topic(given), 7, "https://hub.example"), {
      given,
      canonical: "windhover:events/7",
      host: "events-7"
    })
    assert.strictEqual(accountOfEvents(eventsTopicOf(123)), 123)
    const other = topic("https://hub.example/feed")
    assert.strictEqual(resolveEvents(other, 7, "https://hub.example"), other)
  })

  it("is a resource that no subscriber can name", () => {
    assert.isTrue(isEvents(eventsTopicOf(7)))
    assert.isFalse(isEvents("https://hub.example/events"))
    assert.strictEqual(Topic.parse(eventsTopicOf(7))._tag, "Failure")
  })
})
