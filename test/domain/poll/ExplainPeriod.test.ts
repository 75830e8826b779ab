import { assert, describe, it } from "@effect/vitest"
import { eventsTopicOf } from "#domain/EventsTopic.ts"
import { explainPeriod } from "#domain/poll/ExplainPeriod.ts"
import type { ResourceProfile } from "#domain/poll/Resource.ts"
import type { CatalogItem } from "#domain/ports/ResourceCatalog.ts"

const item = (more: Partial<CatalogItem> = {}, resource: Partial<ResourceProfile> = {}): CatalogItem => ({
  resource: {
    id: 3,
    kind: "feed",
    nextFetch: 2_000,
    lastFetch: 1_000,
    period: 300,
    generatedIds: false,
    entriesSinceMaintenance: 0,
    ...resource
  },
  url: "https://a.example/",
  host: "a.example",
  partition: 0,
  failures: 0,
  inError: false,
  subscribers: 1,
  ...more
})

const explain = (more?: Partial<CatalogItem>, resource?: Partial<ResourceProfile>) =>
  explainPeriod(item(more, resource), { minPeriod: 60, maxPeriod: 900 })

const hub = { hub: "https://hub.example/", state: "active", isReliable: true } as const

describe("explainPeriod", () => {
  it("names the first cause that decides", () => {
    const { lastFetch: _, ...unfetched } = item().resource
    assert.strictEqual(explain({ url: eventsTopicOf(1) }), "Events are read from the database, and never fetched.")
    assert.strictEqual(explain({ subscribers: 0, failures: 1 }), "Nobody is subscribed, so the resource is not polled.")
    assert.strictEqual(
      explainPeriod({ ...item({ failures: 1 }), resource: unfetched }, { minPeriod: 60, maxPeriod: 900 }),
      "The first fetch is due."
    )
    assert.strictEqual(
      explain({ failures: 1, hub }),
      "The last fetch failed. Each failure doubles the period, up to a day."
    )
    assert.match(explain({ failures: 3 }), /^The last 3 fetches failed\./)
    assert.strictEqual(explain({ hub }), "The publisher's hub pushes new content, so polls only check the hub.")
    for (const other of [{ ...hub, isReliable: false }, { ...hub, state: "requested" as const }]) {
      assert.match(explain({ hub: other }), /^News halve/)
    }
  })

  it("tells the shortest and the longest period of a kind from those between", () => {
    assert.match(explain({}, { period: 60 }), /^The shortest period/)
    assert.match(explain({}, { period: 61 }), /^News halve/)
    assert.match(explain({}, { period: 60, kind: "unknown" }), /^The shortest period/)
    assert.match(explain({}, { period: 300, kind: "json" }), /^The shortest period/)
    assert.match(explain({}, { period: 301, kind: "json" }), /^News halve/)
    assert.match(explain({}, { period: 900 }), /^The longest period/)
    assert.match(explain({}, { period: 899 }), /^News halve/)
    assert.strictEqual(
      explain({}, { velocity: 2.449 }),
      "News halve the period, and silence or a hint of the publisher lengthens it. The pace is 2.4 entries a day."
    )
    assert.match(explain({}, { period: 300 }), /lengthens it\.$/)
  })
})
