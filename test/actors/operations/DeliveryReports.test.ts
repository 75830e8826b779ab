import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { DeliveryReports } from "#actors/operations/DeliveryReports.ts"
import { Hub } from "#actors/operations/Hub.ts"
import { DeliveryError } from "#domain/ports/Deliverer.ts"
import { feed, hook, started, subscribe, watched } from "#test/support/HubCalls.ts"
import { caller, layer } from "#test/support/SimulatedWeb.ts"

const stranger = { ...caller, account: { ...caller.account, id: 99 } }

const reports = <A, E>(use: (reports: DeliveryReports["Service"]) => Effect.Effect<A, E>) => DeliveryReports.use(use)

const list = (query: Partial<Parameters<DeliveryReports["Service"]["list"]>[0]> = {}) =>
  reports((service) => service.list({ caller, limit: 20, ...query }))

const refusalOf = <A, E extends { readonly message: string }, R>(effect: Effect.Effect<A, E, R>) =>
  Effect.map(Effect.flip(effect), ({ message }) => message)

describe("DeliveryReports", () => {
  it.effect("shows the request of an attempt as it was sent, without secrets", () =>
    Effect.gen(function*() {
      const web = yield* started
      web.publish(feed, ["first"])
      const callback = "http://user:pass-word@bad.hooks.example/?key=1"
      yield* subscribe("bad", { callback, secret: "s3cr3t-value" })
      yield* TestClock.adjust("1 second")
      web.answer(callback, () => Effect.succeed(500))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("70 seconds")
      const { items } = yield* list({ outcome: "failed" })
      const { event, request } = yield* reports((service) => service.show({ caller, id: items[0]?.id ?? "" }))
      assert.deepStrictEqual(event, items[0])
      const sent = web.parcels[1]
      assert.deepStrictEqual(request?.body, sent?.body)
      const shown = new Map(request?.headers)
      for (const [name, value] of sent?.headers ?? []) {
        assert.strictEqual(shown.get(name), value.replace("user:pass-word@", "***@"))
      }
      assert.deepStrictEqual(
        ["Authorization", "X-Hub-Signature", "X-Hub-Signature-256", "webhook-signature", "webhook-timestamp"].map((
          name
        ) => shown.get(name)),
        ["***", "***", "***", "***", "***"]
      )
      assert.strictEqual(shown.get("webhook-id"), sent?.id)
      assert.strictEqual(shown.get("X-Service-Retried"), "1")
      assert.notMatch(JSON.stringify(request?.headers), /s3cr3t|pass-word/)
      const masked = "http://***@bad.hooks.example/?key=1"
      const ofAll = { caller, ofAll: true }
      assert.deepStrictEqual((yield* list({ ...ofAll, limit: 1 })).items.map(({ endpoint }) => endpoint), [masked])
      const shownToOperators = yield* reports((service) => service.show({ ...ofAll, id: event.id }))
      assert.strictEqual(shownToOperators.event.endpoint, masked)
    }).pipe(Effect.provide(layer)))

  it.effect("gives no account an event of another one, whatever it guesses", () =>
    Effect.gen(function*() {
      const web = yield* watched("bad")
      web.answer(hook("bad"), () => Effect.succeed(500))
      web.publish(feed, ["b", "first"])
      yield* TestClock.adjust("70 seconds")
      const { items: [item = assert.fail()] } = yield* list()
      const subscription = item.outcome === "denied" ? assert.fail() : item.subscriptionId
      for (
        const query of [{}, { subscriptionId: subscription }, { host: "bad.hooks.example" }, { topic: feed }, {
          code: 500
        }]
      ) {
        assert.deepStrictEqual(yield* list({ caller: stranger, ...query }), { items: [] })
        assert.isAbove((yield* list({ caller: stranger, ofAll: true, ...query })).items.length, 0)
      }
      const unknown = `There is no logged delivery "${item.id}"; a later one may have its place.`
      assert.strictEqual(
        yield* refusalOf(reports((service) => service.show({ caller: stranger, id: item.id }))),
        unknown
      )
      for (const id of ["", "1", "x", `${item.id}0`, "9".repeat(25), "1-1-1-1"]) {
        const show = reports((service) => service.show({ caller, id }))
        assert.match(yield* refusalOf(show), /^There is no logged delivery/)
      }
      const record = reports((service) => service.record({ caller: stranger, subscription, minutes: 1 }))
      assert.match(yield* refusalOf(record), /^Your account has no subscription/)
    }).pipe(Effect.provide(layer)))

  it.effect("shows a failure notification that a refused callback did not get, and its reason", () =>
    Effect.gen(function*() {
      const web = yield* watched("inside")
      web.answer(
        hook("inside"),
        () => Effect.fail(new DeliveryError({ reason: { _tag: "RefusedAddress", message: "inside: not allowed" } }))
      )
      web.serve(
        feed,
        () => Effect.succeed({ status: 404, headers: {}, body: new Uint8Array(), signature: 0n, finalUrl: feed })
      )
      yield* TestClock.adjust("10 minutes")
      const { items } = yield* list({ reason: "refused-address", outcome: "dropped" })
      assert.deepStrictEqual(
        items.map(({ code, endpoint, message, topic }) => [code, endpoint, message, topic]),
        [[0, hook("inside"), "inside: not allowed", feed]]
      )
      const { request } = yield* reports((service) => service.show({ caller, id: items[0]?.id ?? "" }))
      const body = new TextDecoder().decode(request?.body)
      assert.include(body, "<http code=\"404\">")
      assert.notInclude(body, "<entry")
    }).pipe(Effect.provide(layer)))

  it.effect("records a subscription of the caller for the minutes that it asks for", () =>
    Effect.gen(function*() {
      yield* watched("good")
      const { items: [item] } = yield* (yield* Hub).list({ caller, page: 1, byPage: 1 })
      const id = item?.subscription.id ?? 0
      const { subscription, until } = yield* reports((service) =>
        service.record({ caller, topic: feed, callback: hook("good"), minutes: 5 })
      )
      assert.deepStrictEqual([subscription.id, until], [id, 2_000 + 300_000])
    }).pipe(Effect.provide(layer)))

  it.effect("refuses a wrong topic or position", () =>
    Effect.gen(function*() {
      yield* started
      assert.match(yield* refusalOf(list({ topic: "no url" })), /topic/)
      assert.match(yield* refusalOf(list({ after: "x" })), /^cursor is not one of this list/)
    }).pipe(Effect.provide(layer)))
})
