import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer, Redacted } from "effect"
import { DeliveryReports } from "#actors/operations/DeliveryReports.ts"
import type { ListedSubscription } from "#actors/operations/Hub.ts"
import type { Right } from "#domain/Account.ts"
import type { LoggedAttempt } from "#domain/delivery/DeliveryLogEntry.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { management } from "#test/support/Api.ts"
import { operator, serveDashboard } from "#test/support/Dashboard.ts"

const item = (
  subscription: Partial<Subscription> = {},
  more: Partial<ListedSubscription> = {}
): ListedSubscription => ({
  subscription: {
    id: 7,
    accountId: 1,
    resourceId: 3,
    topic: "https://a.example/feed",
    channel: "webhook",
    endpoint: "https://b.example/hook",
    host: "b.example",
    face: "api",
    state: "active",
    createdAt: 0,
    ...subscription
  },
  resource: {
    id: 3,
    kind: "feed",
    nextFetch: 2_000,
    lastFetch: 1_000,
    period: 60,
    code: 200,
    http: "Fetched (ring) 200 60 and parsed 1/1 entries",
    generatedIds: false,
    entriesSinceMaintenance: 0
  },
  ...more
})

const failed = (reason: LoggedAttempt["reason"], code: number, message: string): LoggedAttempt => ({
  id: "7-1-1",
  outcome: "failed",
  subscriptionId: 7,
  topic: "https://a.example/feed",
  endpoint: "https://b.example/hook",
  triedAt: 1_000,
  sequence: 1,
  attempt: 1,
  code,
  message,
  ...(reason !== undefined && { reason })
})

const failing = { failing: { since: 1_000, announced: 0 } }

/** The page of a subscription, without its tags. */
const served = Effect.gen(function*() {
  let listed = item()
  let attempts: ReadonlyArray<LoggedAttempt> = []
  const { get, signIn } = yield* serveDashboard({
    hub: { list: () => Effect.sync(() => ({ items: [listed], total: undefined })) },
    services: Layer.merge(
      management,
      Layer.mock(DeliveryReports, { list: () => Effect.sync(() => ({ items: attempts })) })
    )
  })
  const cookie = yield* signIn()
  return Effect.fnUntraced(function*(wanted: ListedSubscription, ...failures: ReadonlyArray<LoggedAttempt>) {
    listed = wanted
    attempts = failures
    const { text } = yield* get("/dashboard/subscriptions/7", cookie)
    const diagnosis = /<p class="diagnosis[^>]*>([\s\S]*?)<\/p>/.exec(text)?.[1] ?? ""
    const buttons = text.matchAll(
      /(?:action="\/dashboard\/subscriptions\/7\/(\w+)"[\s\S]*?<button[^>]*>|href="\/dashboard\/subscriptions\/7\/(\w+)">)([^<]*)/g
    )
    const warning = yield* get("/dashboard/subscriptions/7/unsubscribe", cookie)
    return {
      warning: /<p class="diagnosis warn"><span>([^<]*)/.exec(warning.text)?.[1],
      leaves: warning.text.includes(`action="/dashboard/subscriptions/7/unsubscribe"`),
      diagnosis: diagnosis.replace(/<[^>]*>/g, "").replaceAll("&#39;", "'"),
      buttons: [...buttons].map(([, action, page, label]) => `${action ?? page}: ${label}`)
    }
  })
})

describe("the page of a subscription", () => {
  it.live("tells why a callback gets nothing: a refused address, a login, a redirect, a silent feed", () =>
    Effect.gen(function*() {
      const showPage = yield* served
      const diagnosisOf = (attempt: LoggedAttempt) =>
        Effect.map(showPage(item(failing), attempt), ({ diagnosis }) => diagnosis)
      assert.strictEqual(
        yield* diagnosisOf(failed("refused-address", 0, "b.example resolves to 10.0.0.1, a private address")),
        "callback fails b.example resolves to 10.0.0.1, a private address. The name of the callback resolves to an address to which this service does not connect. Use a public address, or let the operator allow this one (WINDHOVER_ALLOWED_ADDRESSES)."
      )
      assert.strictEqual(
        yield* diagnosisOf(failed("unauthorized", 401, "The callback answered 401.")),
        "callback fails The callback answered 401. The callback requires a login that the notification does not have, or forbids it. Put the credentials into the callback's URL, or let its server accept requests without a login."
      )
      assert.strictEqual(
        yield* diagnosisOf(
          failed("redirect", 302, "The callback answered 302. Redirects are not followed: subscribe the new URL.")
        ),
        "callback fails The callback answered 302. Redirects are not followed: subscribe the new URL."
      )
      assert.strictEqual(
        (yield* showPage(item())).diagnosis,
        "silent The resource is read, and had nothing new since you subscribed. Send a test, or wait for an entry."
      )
    }))

  it.live("has the actions that apply to its state", () =>
    Effect.gen(function*() {
      const showPage = yield* served
      const buttonsOf = (listed: ListedSubscription) => Effect.map(showPage(listed), ({ buttons }) => buttons)
      assert.deepStrictEqual((yield* buttonsOf(item())).slice(0, 4), [
        "test: Send a test",
        "replay: Replay the newest",
        "pause: Pause",
        "unsubscribe: Unsubscribe"
      ])
      assert.deepStrictEqual((yield* buttonsOf(item({ state: "paused" }))).slice(2, 4), [
        "resume: Resume",
        "unsubscribe: Unsubscribe"
      ])
      assert.deepStrictEqual((yield* buttonsOf(item(failing))).slice(2, 5), [
        "pause: Pause",
        "resume: Try now",
        "unsubscribe: Unsubscribe"
      ])
      assert.deepStrictEqual((yield* buttonsOf(item({ ...failing, state: "paused" }))).slice(2, 4), [
        "resume: Resume",
        "unsubscribe: Unsubscribe"
      ])
      const dropped = yield* buttonsOf(item({}, { deliveries: { waiting: 0, dropped: 2 } }))
      assert.strictEqual(dropped[1], "recover: Recover dropped")
      const xmpp = yield* buttonsOf(item({ channel: "xmpp", endpoint: "ann@example.org", state: "paused" }))
      assert.deepStrictEqual(xmpp, ["resume: Resume", "unsubscribe: Unsubscribe"])
    }))

  it.live("warns before it ends, and names the notifications that are lost", () =>
    Effect.gen(function*() {
      const showPage = yield* served
      const { leaves, warning } = yield* showPage(item({}, { deliveries: { waiting: 1, dropped: 2 } }))
      assert.strictEqual(
        warning,
        "No further news is sent. 3 notifications not accepted by the callback can no longer be recovered."
      )
      assert.isTrue(leaves)
      assert.strictEqual(
        (yield* showPage(item())).warning,
        "No further news is sent. A paused subscription sends nothing either, and can be resumed."
      )
    }))

  it.live("stays a list with its search when the search has a mistake", () =>
    Effect.gen(function*() {
      const { get, signIn } = yield* serveDashboard()
      const cookie = yield* signIn()
      for (const list of ["resources", "subscriptions"]) {
        const { status, text } = yield* get(`/dashboard/${list}?search=wrong.key:true`, cookie)
        assert.strictEqual(status, 422)
        assert.include(text, `value="wrong.key:true"`)
        assert.include(text, "search has no key &quot;wrong.key&quot;")
      }
    }))

  it.live("shortens a long URL in its list, and keeps all of it in the title", () =>
    Effect.gen(function*() {
      const topic = `https://a.example/${"x".repeat(200)}/end`
      const { get, signIn } = yield* serveDashboard({
        hub: { list: () => Effect.succeed({ items: [item({ topic })], total: undefined }) }
      })
      const { text } = yield* get("/dashboard/subscriptions", yield* signIn())
      const [, title, shown = ""] = /title="([^"]*)">(https:[^<]*)/.exec(text) ?? []
      assert.deepStrictEqual([title, shown.length, shown.endsWith("x/end"), shown.includes("…")], [
        topic,
        120,
        true,
        true
      ])
    }))
})

describe("the page that warns before the end of a subscription", () => {
  it.live("shows nothing of a subscription to a token without the right list", () =>
    Effect.gen(function*() {
      const { account, context, get, signIn } = yield* serveDashboard({
        hub: { list: () => Effect.succeed({ items: [item()], total: undefined }) }
      })
      const statusFor = Effect.fnUntraced(function*(rights: ReadonlyArray<Right>) {
        const { secret } = yield* AccountStore.use((store) =>
          store.createToken({ accountId: account.id, name: rights.join(), rights })
        ).pipe(Effect.provideContext(context))
        const cookie = yield* signIn(operator.login, Redacted.value(secret))
        const { status, text } = yield* get("/dashboard/subscriptions/7/unsubscribe", cookie)
        return [status, text.includes("https://b.example/hook")]
      })
      assert.deepStrictEqual(yield* statusFor(["list", "unsubscribe"]), [200, true])
      assert.deepStrictEqual(yield* statusFor(["unsubscribe"]), [403, false])
    }))
})
