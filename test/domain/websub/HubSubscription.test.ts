import { assert, describe, it } from "@effect/vitest"
import {
  acceptsPush,
  applyIntent,
  type CallbackCredentials,
  describeHubs,
  type HubSubscription,
  type HubSubscriptionStep,
  isReachable,
  nextStep,
  plannedStep,
  recordMissedPush,
  recordPush,
  recordRefusal,
  verificationTimeoutMs,
  withHubLinks
} from "#domain/websub/HubSubscription.ts"

const minute = 60_000
const day = 24 * 60 * minute
const resource = { id: 5, partition: 7 }
const hubs = ["https://a.example/", "https://b.example/"]
const topic = "https://feeds.example/a"
const fresh: CallbackCredentials = { callback: "callback", secret: "secret" }

const stored = (upstream: HubSubscription | undefined): HubSubscription => ({
  ...upstream ?? assert.fail("nothing to store"),
  revision: 1
})
const idle = stored(withHubLinks(undefined, resource, { hubs, topic }))
const stateOf = (step: HubSubscriptionStep): HubSubscription =>
  step._tag === "Save" || step._tag === "Request" ? step.next : assert.fail(step._tag)
const asked = stateOf(nextStep(idle, true, fresh, 0))
const active = stored(applyIntent(asked, { mode: "subscribe", topic, leaseSeconds: 86_400 }, 1_000))

describe("a subscription at a publisher's hub", () => {
  it("is asked for with a new callback and secret, and stands when the hub has verified it", () => {
    assert.deepStrictEqual(nextStep(idle, true, fresh, 0), {
      _tag: "Request",
      mode: "subscribe",
      next: { ...idle, ...fresh, state: "requested", dueAt: verificationTimeoutMs }
    })
    assert.deepStrictEqual(nextStep(asked, true, fresh, verificationTimeoutMs - 1), {
      _tag: "Wait",
      until: verificationTimeoutMs
    })
    assert.deepStrictEqual([active.state, active.leaseUntil, active.dueAt], ["active", 86_401_000, 43_201_000])
    assert.deepStrictEqual([idle, asked, active].map(acceptsPush), [false, true, true])
  })

  it("is renewed at half its lease, with the same callback, and more rarely when the hub does not verify", () => {
    const half = active.dueAt ?? 0
    assert.deepStrictEqual(nextStep(active, true, fresh, half - 1), { _tag: "Wait", until: half })
    const renewed = nextStep(active, true, { callback: "other", secret: "other" }, half)
    assert.strictEqual(renewed._tag, "Request")
    assert.deepStrictEqual([stateOf(renewed).callback, stateOf(renewed).state], ["callback", "active"])
    let state = stateOf(renewed)
    const waits: Array<number> = []
    for (let now = half; waits.length < 5;) {
      waits.push(((state.dueAt ?? 0) - now) / minute)
      now = state.dueAt ?? 0
      state = stateOf(nextStep(state, true, fresh, now))
    }
    assert.deepStrictEqual(waits, [10, 10, 20, 40, 80])
    const ended = stateOf(nextStep(state, true, fresh, active.leaseUntil ?? 0))
    assert.deepStrictEqual([ended.state, ended.callback, ended.dueAt], ["idle", undefined, active.leaseUntil])
  })

  it("goes on at once when a clock that was ahead has planned its next step", () => {
    const ahead = 100 * 365 * day
    for (const known of [idle, asked, active, stateOf(nextStep(active, false, fresh, 0))]) {
      const planned = { ...known, dueAt: ahead }
      assert.strictEqual(plannedStep(planned, 0), 0, known.state)
      assert.notStrictEqual(nextStep(planned, true, fresh, 0)._tag, "Wait", known.state)
    }
    assert.strictEqual(plannedStep(active, 0), active.dueAt)
    const left = { ...stateOf(nextStep(active, false, fresh, 0)), dueAt: ahead }
    assert.strictEqual(nextStep(left, false, fresh, 0)._tag, "Save")
  })

  it("takes leases of ten seconds to sixty days, and ten days from a hub that names none", () => {
    const lease = (leaseSeconds?: number) =>
      applyIntent(asked, { mode: "subscribe", topic, ...(leaseSeconds === undefined ? {} : { leaseSeconds }) }, 0)
        ?.leaseUntil
    assert.deepStrictEqual([lease(1), lease(45), lease(3_600), lease(1e12), lease(), lease(0)], [
      10_000,
      45_000,
      60 * minute,
      60 * day,
      10 * day,
      10 * day
    ])
  })

  it("renews a lease of a minute after half of it, and once more before its end", () => {
    const minutes = stored(applyIntent(asked, { mode: "subscribe", topic, leaseSeconds: 60 }, 0))
    assert.strictEqual(minutes.dueAt, 30_000)
    const renewal = stateOf(nextStep(minutes, true, fresh, 30_000))
    assert.deepStrictEqual([renewal.state, renewal.dueAt, renewal.callback], ["active", 60_000, minutes.callback])
  })

  it("agrees to nothing that it does not want", () => {
    const wrong = { mode: "subscribe", topic: `${topic}x` } as const
    assert.isUndefined(applyIntent(asked, wrong, 0))
    assert.isUndefined(applyIntent(active, { mode: "unsubscribe", topic }, 0))
    assert.isUndefined(applyIntent(idle, { mode: "subscribe", topic }, 0))
    assert.isUndefined(applyIntent(idle, { mode: "denied", topic }, 0))
    assert.isUndefined(applyIntent(active, { ...wrong, mode: "denied" }, 0))
  })

  it("goes to the next hub after a refusal, with growing waits up to a day", () => {
    let state = asked
    const tries: Array<readonly [string, number]> = []
    for (let i = 0; i < 11; i++) {
      state = recordRefusal(state, "no", 0)
      tries.push([state.hub, (state.dueAt ?? 0) / minute])
      state = stateOf(nextStep(state, true, fresh, state.dueAt ?? 0))
    }
    const [a = "", b = ""] = hubs
    assert.deepStrictEqual(tries.slice(0, 3), [[b, 5], [a, 10], [b, 20]])
    assert.deepStrictEqual(tries.at(-1)?.[1], 1_440)
    const late = nextStep(asked, true, fresh, verificationTimeoutMs)
    assert.deepStrictEqual([late._tag, stateOf(late).problem], ["Save", "the hub has not verified in time"])
  })

  it("keeps a lease that stands when its renewal is refused", () => {
    const kept = recordRefusal(active, "503", 1_000)
    assert.deepStrictEqual([kept.state, kept.callback, kept.dueAt], ["active", "callback", 301_000])
  })

  it("heeds a denial: another hub after some minutes, the same one after a week", () => {
    const denied = applyIntent(active, { mode: "denied", topic, reason: "go away" }, 0)
    assert.deepStrictEqual([denied?.state, denied?.hub, denied?.dueAt, denied?.problem], [
      "idle",
      hubs[1],
      5 * minute,
      "the hub denies: go away"
    ])
    const only = { ...asked, hubs: hubs.slice(0, 1) }
    assert.strictEqual(applyIntent(only, { mode: "denied", topic }, 0)?.dueAt, 7 * day)
    assert.deepStrictEqual(nextStep(stored(denied), true, fresh, minute), { _tag: "Wait", until: 5 * minute })
  })

  it("ends when nobody watches, verified or not, and begins anew when somebody does", () => {
    const step = nextStep(active, false, fresh, 0)
    const leaving = stateOf(step)
    assert.deepStrictEqual([step._tag, leaving.state, acceptsPush(leaving)], ["Request", "unsubscribing", false])
    assert.isUndefined(applyIntent(leaving, { mode: "subscribe", topic }, 0))
    assert.deepStrictEqual(
      applyIntent(leaving, { mode: "unsubscribe", topic }, 0),
      stateOf(nextStep(leaving, false, fresh, verificationTimeoutMs))
    )
    assert.strictEqual(recordRefusal(leaving, "404", 0).state, "idle")
    const again = stateOf(nextStep(leaving, true, { callback: "new", secret: "new" }, 1))
    assert.deepStrictEqual([again.state, again.callback], ["requested", "new"])
    assert.deepStrictEqual(nextStep(idle, false, fresh, 0), { _tag: "Wait", until: undefined })
  })

  it("follows what the publisher advertises", () => {
    assert.isUndefined(withHubLinks(active, resource, { hubs, topic }))
    assert.isUndefined(withHubLinks(undefined, resource, { hubs: [], topic }))
    const [a = "", b = ""] = hubs
    assert.deepStrictEqual(withHubLinks(active, resource, { hubs: [b, a], topic }), { ...active, hubs: [b, a] })
    const moved = withHubLinks(active, resource, { hubs: [b], topic })
    assert.deepStrictEqual([moved?.state, moved?.hub, moved?.callback, moved?.dueAt], ["idle", b, undefined, undefined])
    assert.strictEqual(withHubLinks(active, resource, { hubs, topic: "https://feeds.example/b" })?.state, "idle")
    const none = stored(withHubLinks(active, resource, { hubs: [], topic }))
    const step = nextStep(none, true, fresh, 0)
    assert.deepStrictEqual([step._tag, stateOf(step).state], ["Request", "unsubscribing"])
    const over = applyIntent(stateOf(step), { mode: "unsubscribe", topic }, 0)
    assert.deepStrictEqual(nextStep(stored(over), true, fresh, 0), { _tag: "Remove" })
  })

  it("is trusted from its first push on until it misses one, and asks the hub again then", () => {
    const trusted = stored(recordPush(active))
    assert.deepStrictEqual([active.reliable, trusted.reliable, recordPush(trusted), recordPush(asked)], [
      false,
      true,
      undefined,
      undefined
    ])
    const lost = recordMissedPush(trusted, 50_000)
    assert.deepStrictEqual([lost?.reliable, lost?.state, lost?.dueAt], [false, "active", 50_000])
    assert.isUndefined(recordMissedPush(active, 50_000))
  })
})

describe("the base URL", () => {
  it("can be reached by hubs elsewhere when it is public by its look", () => {
    const yes = ["https://push.example.org", "http://8.8.8.8", "http://[2001:db8::1]:8080", "https://a.co.uk/hub"]
    const no = [
      "http://localhost:8080",
      "http://push:8080",
      "http://10.1.2.3",
      "http://172.20.0.1",
      "http://192.168.1.1",
      "http://100.64.0.1",
      "http://127.0.0.1:1",
      "http://[::1]",
      "http://[fd00::1]",
      "http://a.local",
      "http://a.internal",
      "http://windhover.test"
    ]
    assert.deepStrictEqual(yes.filter(isReachable), yes)
    assert.deepStrictEqual(no.filter(isReachable), [])
  })

  it("names hubs by ten hosts at most", () => {
    const hubs = Array.from({ length: 12 }, (_, i) => `https://h${i}.example/?key=k`)
    assert.strictEqual(describeHubs(["https://a.example:8443/x?key=k", "https://a.example:8443/y"]), "a.example:8443")
    assert.match(describeHubs(hubs), /^h0\.example, (h\d\.example, ){8}h9\.example and 2 more$/)
  })
})
