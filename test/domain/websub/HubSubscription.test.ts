import { assert, describe, it } from "@effect/vitest"
import {
  agreed,
  found,
  type Fresh,
  type HubSubscription,
  isReachable,
  missed,
  named,
  next,
  patience,
  plannedStep,
  pushed,
  receives,
  refused,
  type Step
} from "#domain/websub/HubSubscription.ts"

const minute = 60_000
const day = 24 * 60 * minute
const resource = { id: 5, partition: 7 }
const hubs = ["https://a.example/", "https://b.example/"]
const topic = "https://feeds.example/a"
const fresh: Fresh = { callback: "callback", secret: "secret" }

const stored = (upstream: HubSubscription | undefined): HubSubscription => ({
  ...upstream ?? assert.fail("nothing to store"),
  revision: 1
})
const idle = stored(found(undefined, resource, { hubs, topic }))
const stateOf = (step: Step): HubSubscription =>
  step._tag === "Save" || step._tag === "Ask" ? step.next : assert.fail(step._tag)
const asked = stateOf(next(idle, true, fresh, 0))
const active = stored(agreed(asked, { mode: "subscribe", topic, leaseSeconds: 86_400 }, 1_000))

describe("a subscription at a publisher's hub", () => {
  it("is asked for with a new callback and secret, and stands when the hub has verified it", () => {
    assert.deepStrictEqual(next(idle, true, fresh, 0), {
      _tag: "Ask",
      mode: "subscribe",
      next: { ...idle, ...fresh, state: "asked", dueAt: patience }
    })
    assert.deepStrictEqual(next(asked, true, fresh, patience - 1), { _tag: "Wait", until: patience })
    assert.deepStrictEqual([active.state, active.leaseUntil, active.dueAt], ["active", 86_401_000, 43_201_000])
    assert.deepStrictEqual([idle, asked, active].map(receives), [false, true, true])
  })

  it("is renewed at half its lease, with the same callback, and more rarely when the hub does not verify", () => {
    const half = active.dueAt ?? 0
    assert.deepStrictEqual(next(active, true, fresh, half - 1), { _tag: "Wait", until: half })
    const renewed = next(active, true, { callback: "other", secret: "other" }, half)
    assert.strictEqual(renewed._tag, "Ask")
    assert.deepStrictEqual([stateOf(renewed).callback, stateOf(renewed).state], ["callback", "active"])
    let state = stateOf(renewed)
    const waits: Array<number> = []
    for (let now = half; waits.length < 5;) {
      waits.push(((state.dueAt ?? 0) - now) / minute)
      now = state.dueAt ?? 0
      state = stateOf(next(state, true, fresh, now))
    }
    assert.deepStrictEqual(waits, [10, 10, 20, 40, 80])
    const ended = stateOf(next(state, true, fresh, active.leaseUntil ?? 0))
    assert.deepStrictEqual([ended.state, ended.callback, ended.dueAt], ["idle", undefined, active.leaseUntil])
  })

  it("goes on at once when a clock that was ahead has planned its next step", () => {
    const ahead = 100 * 365 * day
    for (const known of [idle, asked, active, stateOf(next(active, false, fresh, 0))]) {
      const planned = { ...known, dueAt: ahead }
      assert.strictEqual(plannedStep(planned, 0), 0, known.state)
      assert.notStrictEqual(next(planned, true, fresh, 0)._tag, "Wait", known.state)
    }
    assert.strictEqual(plannedStep(active, 0), active.dueAt)
    const left = { ...stateOf(next(active, false, fresh, 0)), dueAt: ahead }
    assert.strictEqual(next(left, false, fresh, 0)._tag, "Save")
  })

  it("takes leases of ten minutes to sixty days, and ten days from a hub that names none", () => {
    const lease = (leaseSeconds?: number) =>
      agreed(asked, { mode: "subscribe", topic, ...(leaseSeconds === undefined ? {} : { leaseSeconds }) }, 0)
        ?.leaseUntil
    assert.deepStrictEqual([lease(1), lease(3_600), lease(1e12), lease()], [
      10 * minute,
      60 * minute,
      60 * day,
      10 * day
    ])
  })

  it("agrees to nothing that it does not want", () => {
    const wrong = { mode: "subscribe", topic: `${topic}x` } as const
    assert.isUndefined(agreed(asked, wrong, 0))
    assert.isUndefined(agreed(active, { mode: "unsubscribe", topic }, 0))
    assert.isUndefined(agreed(idle, { mode: "subscribe", topic }, 0))
    assert.isUndefined(agreed(idle, { mode: "denied", topic }, 0))
    assert.isUndefined(agreed(active, { ...wrong, mode: "denied" }, 0))
  })

  it("goes to the next hub after a refusal, with growing waits up to a day", () => {
    let state = asked
    const tries: Array<readonly [string, number]> = []
    for (let i = 0; i < 11; i++) {
      state = refused(state, "no", 0)
      tries.push([state.hub, (state.dueAt ?? 0) / minute])
      state = stateOf(next(state, true, fresh, state.dueAt ?? 0))
    }
    const [a = "", b = ""] = hubs
    assert.deepStrictEqual(tries.slice(0, 3), [[b, 5], [a, 10], [b, 20]])
    assert.deepStrictEqual(tries.at(-1)?.[1], 1_440)
    const late = next(asked, true, fresh, patience)
    assert.deepStrictEqual([late._tag, stateOf(late).problem], ["Save", "the hub has not verified in time"])
  })

  it("keeps a lease that stands when its renewal is refused", () => {
    const kept = refused(active, "503", 1_000)
    assert.deepStrictEqual([kept.state, kept.callback, kept.dueAt], ["active", "callback", 301_000])
  })

  it("heeds a denial: another hub after some minutes, the same one after a week", () => {
    const denied = agreed(active, { mode: "denied", topic, reason: "go away" }, 0)
    assert.deepStrictEqual([denied?.state, denied?.hub, denied?.dueAt, denied?.problem], [
      "idle",
      hubs[1],
      5 * minute,
      "the hub denies: go away"
    ])
    const only = { ...asked, hubs: hubs.slice(0, 1) }
    assert.strictEqual(agreed(only, { mode: "denied", topic }, 0)?.dueAt, 7 * day)
    assert.deepStrictEqual(next(stored(denied), true, fresh, minute), { _tag: "Wait", until: 5 * minute })
  })

  it("ends when nobody watches, verified or not, and begins anew when somebody does", () => {
    const step = next(active, false, fresh, 0)
    const leaving = stateOf(step)
    assert.deepStrictEqual([step._tag, leaving.state, receives(leaving)], ["Ask", "leaving", false])
    assert.isUndefined(agreed(leaving, { mode: "subscribe", topic }, 0))
    assert.deepStrictEqual(
      agreed(leaving, { mode: "unsubscribe", topic }, 0),
      stateOf(next(leaving, false, fresh, patience))
    )
    assert.strictEqual(refused(leaving, "404", 0).state, "idle")
    const again = stateOf(next(leaving, true, { callback: "new", secret: "new" }, 1))
    assert.deepStrictEqual([again.state, again.callback], ["asked", "new"])
    assert.deepStrictEqual(next(idle, false, fresh, 0), { _tag: "Wait", until: undefined })
  })

  it("follows what the publisher advertises", () => {
    assert.isUndefined(found(active, resource, { hubs, topic }))
    assert.isUndefined(found(undefined, resource, { hubs: [], topic }))
    const [a = "", b = ""] = hubs
    assert.deepStrictEqual(found(active, resource, { hubs: [b, a], topic }), { ...active, hubs: [b, a] })
    const moved = found(active, resource, { hubs: [b], topic })
    assert.deepStrictEqual([moved?.state, moved?.hub, moved?.callback, moved?.dueAt], ["idle", b, undefined, undefined])
    assert.strictEqual(found(active, resource, { hubs, topic: "https://feeds.example/b" })?.state, "idle")
    const none = stored(found(active, resource, { hubs: [], topic }))
    const step = next(none, true, fresh, 0)
    assert.deepStrictEqual([step._tag, stateOf(step).state], ["Ask", "leaving"])
    const over = agreed(stateOf(step), { mode: "unsubscribe", topic }, 0)
    assert.deepStrictEqual(next(stored(over), true, fresh, 0), { _tag: "Remove" })
  })

  it("is trusted from its first push on until it misses one, and asks the hub again then", () => {
    const trusted = stored(pushed(active))
    assert.deepStrictEqual([active.trusted, trusted.trusted, pushed(trusted), pushed(asked)], [
      false,
      true,
      undefined,
      undefined
    ])
    const lost = missed(trusted, 50_000)
    assert.deepStrictEqual([lost?.trusted, lost?.state, lost?.dueAt], [false, "active", 50_000])
    assert.isUndefined(missed(active, 50_000))
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
    assert.strictEqual(named(["https://a.example:8443/x?key=k", "https://a.example:8443/y"]), "a.example:8443")
    assert.match(named(hubs), /^h0\.example, (h\d\.example, ){8}h9\.example and 2 more$/)
  })
})
