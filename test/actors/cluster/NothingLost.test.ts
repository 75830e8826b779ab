import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Layer, Redacted, Result, Scope } from "effect"
import { TestClock } from "effect/testing"
import fc from "fast-check"
import { type PartitionActors, PartitionStarter } from "#actors/cluster/PartitionStarter.ts"
import * as Resource from "#actors/resource/Resource.ts"
import * as Subscription from "#actors/subscription/Subscription.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import type { Parcel } from "#domain/ports/Deliverer.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import * as Topic from "#domain/Topic.ts"
import { feed, hook } from "#test/support/HubCalls.ts"
import { layerPartition } from "#test/support/PartitionActors.ts"
import { SimulatedWeb } from "#test/support/SimulatedWeb.ts"

const topic = Result.getOrThrow(Topic.parse(feed))
const partition = Topic.partitionOf(topic.host)
const names = ["a", "b"]

type Step =
  | { readonly _tag: "Publish"; readonly count: number }
  | { readonly _tag: "Ping" }
  | { readonly _tag: "Wait"; readonly milliseconds: number }
  /** The callback gives these responses to its next tries, and 200 from then on. */
  | { readonly _tag: "Answer"; readonly name: string; readonly answers: ReadonlyArray<Response> }
  | { readonly _tag: "SubscribeAgain"; readonly name: string }
  /** The owner of the partition ends, and the next one starts. */
  | { readonly _tag: "Restart" }
  /** A second owner starts beside the first, which ends after some ms. */
  | { readonly _tag: "Twins"; readonly milliseconds: number }

/** A response of a callback, after some ms. */
interface Response {
  readonly after: number
  readonly status: number
}

const delays = fc.array(fc.oneof(fc.constant(0), fc.integer({ max: 3_000, min: 0 })), { minLength: 1, maxLength: 12 })
const milliseconds = fc.oneof(fc.integer({ min: 1, max: 2_000 }), fc.integer({ min: 1, max: 90_000 }))
const response = fc.record({ after: fc.integer({ min: 0, max: 9_000 }), status: fc.constantFrom(200, 503) })
const name = fc.constantFrom(...names)

const ordinarySteps: ReadonlyArray<fc.Arbitrary<Step>> = [
  fc.record({ _tag: fc.constant("Publish" as const), count: fc.integer({ min: 1, max: 3 }) }),
  fc.record({ _tag: fc.constant("Ping" as const) }),
  fc.record({ _tag: fc.constant("Wait" as const), milliseconds }),
  fc.record({ _tag: fc.constant("Answer" as const), name, answers: fc.array(response, { maxLength: 3 }) }),
  fc.record({ _tag: fc.constant("SubscribeAgain" as const), name }),
  fc.record({ _tag: fc.constant("Restart" as const) })
]
const tooLargeStep = fc.record({
  _tag: fc.constant("Answer" as const),
  name,
  answers: fc.array(
    fc.record({ after: fc.integer({ min: 0, max: 9_000 }), status: fc.constantFrom(200, 413, 413, 503) }),
    {
      maxLength: 6
    }
  )
})
const twinsStep = fc.record({ _tag: fc.constant("Twins" as const), milliseconds })

interface Sent {
  readonly sequence: number
  readonly notification: string
  readonly ids: ReadonlyArray<string>
  readonly status: number
}

const sentOf = (parcel: Parcel, status: number): Sent => {
  const header = (name: string) => parcel.headers.find(([key]) => key === name)?.[1] ?? ""
  const body = new TextDecoder().decode(parcel.body)
  return {
    sequence: Number(header("X-Windhover-Sequence")),
    notification: header("X-Windhover-Notification-Id"),
    ids: [...body.matchAll(/<entry.*?<id>(.*?)<\/id>/g)].map((match) => match[1] ?? "").toReversed(),
    status
  }
}

const subscribe = (accountId: number, name: string) =>
  SubscriptionStore.use((store) =>
    store.subscribe({
      accountId,
      topic,
      partition,
      channel: "webhook",
      endpoint: hook(name),
      host: `${name}.hooks.example`,
      face: "api",
      state: "active"
    })
  )

/** Runs the steps. Returns the entries published after the first document, and the deliveries to each callback in the order of their responses. */
const runSteps = Effect.fnUntraced(function*(steps: ReadonlyArray<Step>) {
  const web = yield* SimulatedWeb
  const starter = yield* PartitionStarter
  const { id: account } = yield* (yield* AccountStore).create("ann", Redacted.make("a password"))
  const document = ["first"]
  const sent = new Map(names.map((name) => [name, [] as Array<Sent>]))
  const script = new Map<string, Array<Response>>()
  let resource = 0
  const subscriptions = new Map<string, number>()
  web.publish(feed, [...document])
  for (const name of names) {
    const made = yield* subscribe(account, name)
    resource = made.resource.id
    subscriptions.set(name, made.subscription.id)
    web.answer(hook(name), (parcel, tries) => {
      const { after, status } = tries < 3 && script.get(name)?.shift() || { after: 0, status: 200 } // the fourth try is the last
      const answered = Effect.sync(() => {
        sent.get(name)?.push(sentOf(parcel, status))
        return status
      })
      return after === 0 ? answered : Effect.delay(answered, after)
    })
  }
  const owners: Array<{ readonly scope: Scope.Closeable; readonly actors: PartitionActors }> = []
  const begin = Effect.gen(function*() {
    const scope = yield* Scope.make()
    owners.push({ scope, actors: yield* starter.start(partition).pipe(Scope.provide(scope)) })
  })
  const end = Effect.suspend(() => {
    const owner = owners.shift()
    return owner === undefined ? Effect.void : Effect.forkChild(Scope.close(owner.scope, Exit.void))
  })
  yield* begin
  yield* TestClock.adjust("30 seconds") // the first document causes no notification

  for (const step of steps) {
    switch (step._tag) {
      case "Publish":
        for (let i = 0; i < step.count; i++) document.unshift(`n${document.length}`)
        web.publish(feed, [...document])
        break
      case "Ping":
        yield* Effect.forEach(owners, ({ actors }) => actors.resources.tell(resource, Resource.ping))
        break
      case "Wait":
        yield* TestClock.adjust(step.milliseconds)
        break
      case "Answer":
        script.set(step.name, [...step.answers])
        break
      case "SubscribeAgain":
        yield* subscribe(account, step.name)
        yield* Effect.forEach(owners, ({ actors }) =>
          Effect.andThen(
            actors.resources.tell(resource, { _tag: "Reload" }),
            actors.subscriptions.tell(subscriptions.get(step.name) ?? 0, { _tag: "Reload" })
          ))
        break
      case "Restart":
        yield* end
        yield* TestClock.adjust("10 seconds") // the longest end of an owner
        yield* begin
        break
      case "Twins":
        yield* begin
        yield* TestClock.adjust(step.milliseconds)
        yield* end
    }
  }
  script.clear()
  // the sweep of a runner finds the deliveries of the former owners
  for (const { actors } of owners) {
    yield* Effect.forEach(subscriptions.values(), (id) => actors.subscriptions.tell(id, Subscription.checkOutbox))
  }
  yield* TestClock.adjust("20 minutes") // a poll, and all tries
  yield* Effect.forEach(owners.splice(0), ({ scope }) => Effect.forkChild(Scope.close(scope, Exit.void)))
  yield* TestClock.adjust("10 seconds")
  return { published: document.slice(0, -1).toReversed(), sent }
})

/** Stores that wait before and after each call, so that an owner may end in between, or another owner comes first. */
const slow = (delays: ReadonlyArray<number>) => {
  let at = 0
  const delay = Effect.suspend(() => Effect.sleep(delays[at++ % delays.length] ?? 0))
  const slowly = <A, E>(effect: Effect.Effect<A, E>) => Effect.andThen(delay, Effect.tap(effect, () => delay))
  return Layer.mergeAll(
    Layer.effect(
      ResourceStore,
      ResourceStore.useSync((store) => ({
        ...store,
        load: (id) => slowly(store.load(id)),
        record: (change) => slowly(store.record(change))
      }))
    ),
    Layer.effect(
      Outbox,
      Outbox.useSync((outbox) => ({
        ...outbox,
        backlog: (id, limit, bytes) => slowly(outbox.backlog(id, limit, bytes)),
        postpone: (delivery, dueAt, attempt) => slowly(outbox.postpone(delivery, dueAt, attempt)),
        split: (delivery, attempt) => slowly(outbox.split(delivery, attempt))
      }))
    )
  )
}

const isHalved = ({ ids, status }: Sent): boolean => status === 413 && ids.length > 1

/** The notifications that a callback has accepted, each once, in the order of their first acceptance. */
const acceptedOf = (sent: ReadonlyArray<Sent>) => {
  const accepted = new Map<number, Sent>()
  for (const delivery of sent) {
    if (delivery.status === 200 && !accepted.has(delivery.sequence)) accepted.set(delivery.sequence, delivery)
  }
  return [...accepted.values()]
}

const checkProperty = (
  kinds: ReadonlyArray<fc.Arbitrary<Step>>,
  check: (sent: ReadonlyArray<Sent>) => void
) =>
  Effect.promise(() =>
    fc.assert(
      fc.asyncProperty(fc.array(fc.oneof(...kinds), { maxLength: 40 }), delays, async (steps, delays) => {
        const { published, sent } = await Effect.runPromise(
          runSteps(steps).pipe(
            Effect.provide(layerPartition({}, slow(delays))),
            Effect.scoped,
            Effect.provide(TestClock.layer())
          )
        )
        for (const all of sent.values()) {
          const accepted = acceptedOf(all)
          assert.deepStrictEqual(accepted.flatMap(({ ids }) => ids), published)
          assert.deepStrictEqual(accepted.map(({ sequence }) => sequence), accepted.map((_, i) => i + 1))
          for (const [i, { notification, sequence, ids }] of all.entries()) {
            // A half of a refused notification has its sequence.
            const halved = all.findLastIndex((delivery, j) =>
              j < i && delivery.sequence === sequence && isHalved(delivery)
            )
            const first = all.find((delivery, j) => j > halved && delivery.sequence === sequence)
            assert.deepStrictEqual([notification, ids], [first?.notification, first?.ids])
          }
          check(all)
        }
      }),
      { numRuns: 100 }
    )
  )

describe("every subscription gets every entry", () => {
  it.live("once, in order, numbered without a gap", () =>
    checkProperty(ordinarySteps, (all) => {
      const answered = all.filter(({ status }) => status === 200).map(({ sequence }) => sequence)
      assert.deepStrictEqual(answered, acceptedOf(all).map(({ sequence }) => sequence))
    }))

  it.live("once, in order, numbered without a gap, also in halves of notifications that were too large", () =>
    checkProperty([...ordinarySteps, tooLargeStep, tooLargeStep], (all) => {
      const answered = all.filter(({ status }) => status === 200).map(({ sequence }) => sequence)
      assert.deepStrictEqual(answered, acceptedOf(all).map(({ sequence }) => sequence))
    }))

  it.live("in order, numbered without a gap, also with two owners at once; repeats have the same notification id", () =>
    checkProperty([...ordinarySteps, twinsStep], () => {}))
})
