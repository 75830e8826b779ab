import { assert, describe, it } from "@effect/vitest"
import {
  createReceiver,
  type Gap,
  MemoryStore,
  type Notification,
  type ReceiverOptions,
  type SubscriptionState
} from "#packages/receiver/src/index.ts"
import { post, recording, signed, standard, told, topic, url } from "./Requests.ts"

const get = (parameters: Record<string, string>) => new Request(`${url}?${new URLSearchParams(parameters)}`)

const make = (options: Partial<ReceiverOptions> = {}) => {
  const record = recording(options)
  const receiver = createReceiver(record.options)
  return {
    ...record,
    receiver,
    send: async (...sequences: ReadonlyArray<number>) => {
      const statuses = []
      for (const sequence of sequences) statuses.push((await receiver.fetch(post(signed({ sequence })))).status)
      return statuses
    }
  }
}

const testOf = (id: string) => ({ id, sequence: 0, headers: { "x-windhover-test": "true" } })

/** A notification that was retrieved. */
const retrieved = (sequence: number): Notification => ({
  id: `${100 + sequence}-7`,
  sequence,
  subscription: "7",
  topic,
  contentType: "text/plain",
  body: new Uint8Array(),
  headers: new Headers(),
  format: "document"
})

describe("a receiver", () => {
  it("answers 204 for a handled notification", async () => {
    const { handled, receiver } = make()
    assert.strictEqual(await told(await receiver.fetch(post(standard({ sequence: 1 })))), "204")
    assert.deepStrictEqual(handled.map(({ id }) => id), ["101-7"])
  })

  it("gives a test to the handler, apart from the order", async () => {
    const gaps: Array<Gap> = []
    const { handled, receiver, send } = make({ onGap: (gap) => void gaps.push(gap) })
    const test = () => receiver.fetch(post(standard(testOf("test-1"))))
    assert.strictEqual(await told(await test()), "200 The test was received.")
    await send(5)
    assert.strictEqual((await test()).status, 200)
    assert.deepStrictEqual(await send(6, 5), [204, 204])
    assert.deepStrictEqual(handled.map(({ id, sequence, test }) => [id, sequence, test]), [
      ["test-1", undefined, true],
      ["105-7", 5, undefined],
      ["test-1", undefined, true],
      ["106-7", 6, undefined]
    ])
    assert.deepStrictEqual(gaps, [])
  })

  it("gives a test to its own callback, and tells its failure", async () => {
    const tests: Array<unknown> = []
    const onTest = ({ id, topic }: Notification) => {
      if (tests.push([id, topic]) === 2) throw new Error("no database")
    }
    const { errors, handled, receiver } = make({ onTest })
    const statuses = []
    for (const key of ["a-secret", "a-secret", "other"]) {
      statuses.push((await receiver.fetch(post(signed(testOf("test-1"), key)))).status)
    }
    assert.deepStrictEqual([statuses, errors.map(String)], [[200, 500, 401], ["Error: no database"]])
    assert.deepStrictEqual([tests, handled], [[["test-1", topic], ["test-1", topic]], []])
  })

  it("tells what is wrong with a request", async () => {
    const { errors, handled, receiver } = make()
    const answers = [
      post({ headers: {}, body: "" }),
      post(signed({}, "other")),
      new Request(url, { method: "PUT" }),
      get({})
    ]
    const texts = []
    for (const request of answers) texts.push(await told(await receiver.fetch(request)))
    assert.deepStrictEqual(texts, [
      "401 The request has no signature: neither webhook-signature nor X-Hub-Signature. Subscribe with hub.secret.",
      "401 The signature does not fit the body. Compare the receiver's secret with the hub.secret of the subscription.",
      "405 This callback takes GET for verifications and POST for notifications.",
      "400 This callback takes notifications by POST. A GET needs hub.mode, hub.topic and hub.challenge."
    ])
    assert.deepStrictEqual([handled, errors], [[], []])
    const { headers } = await receiver.fetch(new Request(url, { method: "DELETE" }))
    assert.strictEqual(headers.get("allow"), "GET, POST")
  })

  it("agrees to its topics alone", async () => {
    const question = {
      "hub.mode": "subscribe",
      "hub.topic": topic,
      "hub.challenge": "<b>42",
      "hub.lease_seconds": "60",
      "hub.verify_token": "t"
    }
    const { receiver } = make({ topics: [topic] })
    const response = await receiver.fetch(get(question))
    assert.strictEqual(response.headers.get("content-type"), "text/plain; charset=utf-8")
    assert.strictEqual(response.headers.get("x-content-type-options"), "nosniff")
    assert.strictEqual(await told(response), "200 <b>42")
    const refused = "404 This receiver does not agree to that topic."
    assert.strictEqual(await told(await receiver.fetch(get({ ...question, "hub.topic": `${topic}/b` }))), refused)
    assert.strictEqual(await told(await make().receiver.fetch(get(question))), refused)
    const intents: Array<unknown> = []
    const topics: ReceiverOptions["topics"] = async (name, intent) => {
      intents.push([name, intent])
      return intent.mode === "subscribe"
    }
    const asked = make({ topics }).receiver
    assert.strictEqual((await asked.fetch(get(question))).status, 200)
    const end = { "hub.mode": "unsubscribe", "hub.topic": topic, "hub.challenge": "1", "hub.lease_seconds": "" }
    assert.strictEqual((await asked.fetch(get(end))).status, 404)
    assert.deepStrictEqual(intents, [
      [topic, { mode: "subscribe", topic, leaseSeconds: 60, verifyToken: "t" }],
      [topic, { mode: "unsubscribe", topic, leaseSeconds: undefined, verifyToken: undefined }]
    ])
  })

  it("refuses questions that are no verification", async () => {
    const { receiver } = make({ topics: () => true })
    const question = { "hub.mode": "subscribe", "hub.topic": topic, "hub.challenge": "1" }
    for (
      const wrong of [{ "hub.mode": "publish" }, { "hub.topic": "" }, { "hub.challenge": "" }, {
        "hub.challenge": "x".repeat(1025)
      }]
    ) {
      assert.strictEqual((await receiver.fetch(get({ ...question, ...wrong }))).status, 400)
    }
  })

  it("passes a denial on", async () => {
    const denials: Array<unknown> = []
    const { receiver } = make({ onDenied: (denial) => void denials.push(denial) })
    const denial = get({ "hub.mode": "denied", "hub.topic": topic, "hub.reason": "no" })
    assert.strictEqual((await receiver.fetch(denial)).status, 200)
    assert.deepStrictEqual(denials, [{ topic, reason: "no" }])
  })

  it("drops repetitions, also while the handler runs", async () => {
    const finish = Promise.withResolvers<void>()
    const { handled, receiver, send } = make({
      onNotification: async (notification) => {
        handled.push(notification)
        await finish.promise
      }
    })
    const first = receiver.fetch(post(signed({ sequence: 1 })))
    const again = receiver.fetch(post(signed({ sequence: 1 })))
    while (handled.length === 0) await new Promise(setImmediate)
    finish.resolve()
    assert.deepStrictEqual([(await first).status, (await again).status], [204, 204])
    assert.deepStrictEqual(await send(1), [204])
    assert.strictEqual(handled.length, 1)
  })

  it("handles a notification again after a failure of the handler", async () => {
    let fails = true
    const { errors, receiver, send, sequences, handled } = make({
      onNotification: (notification) => {
        if (fails) throw new Error("no database")
        handled.push(notification)
      }
    })
    assert.strictEqual(
      await told(await receiver.fetch(post(signed({ sequence: 1 })))),
      "500 The notification could not be handled. Send it again."
    )
    fails = false
    assert.deepStrictEqual(await send(1, 1, 2), [204, 204, 204])
    assert.deepStrictEqual(sequences(), [1, 2])
    assert.deepStrictEqual(errors.map(String), ["Error: no database"])
  })

  it("tells the missing numbers, handles what is retrieved, and later what arrives late", async () => {
    const gaps: Array<Gap> = []
    const { send, sequences } = make({
      onGap: (gap) => {
        gaps.push(gap)
        return [retrieved(4), retrieved(5), retrieved(5), retrieved(9)]
      }
    })
    assert.deepStrictEqual(await send(3, 7, 4, 6, 6, 8), [204, 204, 204, 204, 204, 204])
    assert.deepStrictEqual(sequences(), [3, 4, 5, 7, 6, 8])
    assert.deepStrictEqual(gaps, [{ subscription: "7", topic, first: 4, last: 6, missing: [4, 5, 6] }])
  })

  it("postpones a notification until its gap could be asked for", async () => {
    let fails = true
    const { errors, send, sequences } = make({
      onGap: async function*() {
        yield retrieved(2)
        if (fails) throw new Error("no network")
        yield retrieved(3)
      }
    })
    assert.deepStrictEqual(await send(1, 4), [204, 500])
    assert.deepStrictEqual(sequences(), [1, 2])
    fails = false
    assert.deepStrictEqual(await send(4, 5), [204, 204])
    assert.deepStrictEqual(sequences(), [1, 2, 3, 4, 5])
    assert.deepStrictEqual(errors.map(String), ["Error: no network"])
  })

  it("lists a large gap in part", async () => {
    const gaps: Array<Gap> = []
    const { send, sequences } = make({ onGap: (gap) => void gaps.push(gap) })
    await send(1, 1_000_000_000, 1_000_000_001)
    assert.deepStrictEqual(sequences(), [1, 1_000_000_000, 1_000_000_001])
    assert.strictEqual(gaps.length, 1)
    assert.deepStrictEqual([gaps[0]?.last, gaps[0]?.missing.length, gaps[0]?.missing.at(-1)], [
      999_999_999,
      10_000,
      10_001
    ])
  })

  it("misses the numbers from 1 on request", async () => {
    const gaps: Array<Gap> = []
    const { send } = make({ expectsFirst: true, onGap: (gap) => void gaps.push(gap) })
    await send(3, 4)
    assert.deepStrictEqual(gaps.map(({ missing }) => missing), [[1, 2]])
  })

  it("waits for a notification that was overtaken", async () => {
    const gaps: Array<Gap> = []
    const { receiver, send, sequences } = make({ reorderMs: 8_000, onGap: (gap) => void gaps.push(gap) })
    await send(1)
    const statuses = await Promise.all(
      [4, 2, 3].map(async (sequence) => (await receiver.fetch(post(signed({ sequence })))).status)
    )
    assert.deepStrictEqual(statuses, [204, 204, 204])
    assert.deepStrictEqual(sequences(), [1, 2, 3, 4])
    assert.deepStrictEqual(gaps, [])
  })

  it("waits for an overtaken notification no longer than it was told", async () => {
    const gaps: Array<Gap> = []
    const { send, sequences } = make({ reorderMs: 20, onGap: (gap) => void gaps.push(gap) })
    assert.deepStrictEqual(await send(1, 3), [204, 204])
    assert.deepStrictEqual(sequences(), [1, 3])
    assert.deepStrictEqual(gaps.map(({ missing }) => missing), [[2]])
  })

  it("recognizes numbers that start anew with other ids", async () => {
    const gaps: Array<Gap> = []
    const { receiver, send, sequences } = make({ onGap: (gap) => void gaps.push(gap) })
    await send(1, 2, 3)
    for (const [sequence, id] of [[1, "1-7"], [2, "2-7"], [2, "2-7"], [4, "4-7"]] as const) {
      await receiver.fetch(post(signed({ sequence, id })))
    }
    assert.deepStrictEqual(sequences(), [1, 2, 3, 1, 2, 4])
    assert.deepStrictEqual(gaps.map(({ missing }) => missing), [[3]])
  })

  it("remembers 256 ids and the first one, so that no old repetition of it starts the numbers anew", async () => {
    const { send, sequences } = make()
    await send(...Array.from({ length: 300 }, (_, i) => i + 1))
    await send(1, 45, 44, 301)
    assert.deepStrictEqual(sequences().slice(299), [300, 44, 301])
  })

  it("counts subscriptions apart", async () => {
    const { receiver, sequences } = make()
    for (const id of ["1-7", "1-8"]) await receiver.fetch(post(signed({ sequence: 5, id })))
    assert.deepStrictEqual(sequences(), [5, 5])
  })

  it("drops repetitions of senders without numbers, and has no memory of senders without ids", async () => {
    const { handled, receiver } = make()
    for (const id of ["msg_1", "msg_2", "msg_1"]) await receiver.fetch(post(signed({ id })))
    assert.deepStrictEqual(handled.map(({ id }) => id), ["msg_1", "msg_2"])
    const { body, headers } = signed({})
    const { "x-windhover-notification-id": _, ...others } = headers
    for (let i = 0; i < 2; i++) await receiver.fetch(post({ body, headers: others }))
    assert.strictEqual(handled.length, 4)
  })

  it("holds a bounded number of bytes, and gives the room back", async () => {
    const runs: Array<() => void> = []
    const { receiver } = make({
      maxBufferedBytes: 150,
      onNotification: () => {
        const { promise, resolve } = Promise.withResolvers<void>()
        runs.push(resolve)
        return promise
      }
    })
    const send = (id: string) => receiver.fetch(post(signed({ id, body: "x".repeat(100) })))
    const isRunning = async (count: number) => {
      while (runs.length < count) await new Promise(setImmediate)
    }
    const first = send("1-1")
    await isRunning(1)
    const second = await send("1-2")
    assert.deepStrictEqual([second.status, second.headers.get("retry-after")], [503, "1"])
    runs[0]?.()
    assert.strictEqual((await first).status, 204)
    const third = send("1-3")
    await isRunning(2)
    runs[1]?.()
    assert.strictEqual((await third).status, 204)
  })

  it("lets 256 requests of a subscription wait", async () => {
    const held = Promise.withResolvers<void>()
    const { receiver } = make({ onNotification: () => held.promise })
    const statusOf = (sequence: number) => receiver.handle(retrieved(sequence)).then(() => 204, ({ status }) => status)
    const sent = Array.from({ length: 257 }, (_, i) => statusOf(i + 1))
    held.resolve()
    const statuses = await Promise.all(sent)
    assert.deepStrictEqual(statuses, [...Array(256).fill(204), 503])
  })

  it("keeps the order of processes that share a store with locks", async () => {
    const states = new MemoryStore()
    let tail: Promise<unknown> = Promise.resolve()
    const store = {
      load: async (key: string): Promise<SubscriptionState | undefined> => states.load(key),
      save: async (key: string, state: SubscriptionState) => states.save(key, state),
      lock: <A>(_: string, run: () => Promise<A>): Promise<A> => {
        const turn = tail.then(run)
        tail = turn.catch(() => {})
        return turn
      }
    }
    const handled: Array<number | undefined> = []
    const onNotification = async ({ sequence }: Notification) => {
      await new Promise(setImmediate)
      handled.push(sequence)
    }
    const receivers = [make({ store, onNotification }), make({ store, onNotification })]
    await Promise.all(receivers.map(({ send }) => send(1, 2, 3)))
    assert.deepStrictEqual(handled, [1, 2, 3])
  })

  it("refuses options that cannot work", () => {
    for (
      const wrong of [{ secret: "" }, { reorderMs: -1 }, { reorderMs: 8_001 }, { reorderMs: NaN }, {
        onNotification: undefined
      }]
    ) {
      assert.throws(() => createReceiver({ ...recording().options, ...wrong } as ReceiverOptions), TypeError)
    }
  })
})

describe("MemoryStore", () => {
  it("forgets the subscription that was stored the longest ago", async () => {
    const store = new MemoryStore({ maxSubscriptions: 2 })
    const state = { last: 1, recent: [] }
    for (const key of ["a", "b", "a", "c"]) await store.save(key, state)
    assert.deepStrictEqual([await store.load("a"), await store.load("b"), await store.load("c")], [
      state,
      undefined,
      state
    ])
  })
})
