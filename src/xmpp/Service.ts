import type { Element } from "@xmpp/xml"
import { Effect, FiberSet, Layer, Schedule, Schema } from "effect"
import * as Entity from "effect/cluster/Entity"
import * as EntityId from "effect/cluster/EntityId"
import * as Sharding from "effect/cluster/Sharding"
import * as Rpc from "effect/rpc/Rpc"
import { Hub } from "#actors/operations/Hub.ts"
import { FifoSemaphore } from "#actors/limits/FifoSemaphore.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { quote } from "#domain/Topic.ts"
import * as Component from "./Component.ts"
import * as Conditions from "./Conditions.ts"
import { configOf } from "./Config.ts"
import * as Jid from "#domain/Jid.ts"
import { childrenOf } from "./Elements.ts"
import * as LocalComponent from "./LocalComponent.ts"
import { ns } from "./Namespaces.ts"
import { Online } from "./Online.ts"
import * as Operations from "./Operations.ts"
import * as Replies from "./Replies.ts"
import { bounceOf } from "./BounceStanza.ts"

/** Requests that are answered at once, at most: of all, and of one address. */
const maxRequests = 256
const maxRequestsOfOne = 32

/** Addresses that have come online and whose paused subscriptions are to go on: at once, and those that wait, at most. */
const maxReturns = 8
const mostReturning = 10_000

/** Bounces are seen to in so many rows, those of a subscription in one and so in order. */
const rows = 8

/** Bounces that wait, at most: of all, and of one address. Of a flood the others mean nothing. */
const mostBounces = 10_000
const mostBouncesOfOne = 1_000

/** Bytes of answers that the server has not read: beyond it requests are told to wait, and beyond the second nothing is answered. */
const maxUnread = 1024 * 1024
const mostUnread = 2 * maxUnread

/**
 * The component on the cluster: a name can be connected once, so one runner has the connection, and the others hand it what they have to send.
 * When that runner dies, the next owner of the shard connects.
 */
export const Xmpp = Entity.make("Xmpp", [
  Rpc.make("Wake"),
  /** Answers when the server has the messages, or it is known that it has not. */
  Rpc.make("Deliver", {
    payload: {
      id: Schema.String,
      messages: Schema.Array(Schema.String)
    },
    success: Schema.Literals(["taken", "away", "poison"])
  }),
  /** Bare JIDs; answers in their order. */
  Rpc.make("Online", {
    payload: { jids: Schema.Array(Schema.String) },
    success: Schema.Array(Schema.Literals(["online", "offline", "unknown"]))
  })
])

/** There is one. */
export const entityId = "component"

const layerEntity = Xmpp.toLayer(
  Effect.gen(function*() {
    const config = configOf(yield* Settings)
    if (config === undefined) return yield* Effect.die(new Error("XMPP is off"))
    const operations = yield* Operations.make
    const run = yield* FiberSet.makeRuntime<never>()
    const requests = new InFlight(maxRequests, maxRequestsOfOne)
    const online = new Online()
    const { recordBounce, resumeJid } = yield* Hub
    const outbox = yield* Outbox
    const returning = new Set<string>()
    const returns = new FifoSemaphore(maxReturns)
    const bounces = new InFlight(mostBounces, mostBouncesOfOne)
    const inRow = Array.from({ length: rows }, () => new FifoSemaphore(1))
    const component: Component.Component = yield* Component.make({
      ...config,
      hear: (stanza) => hear(stanza),
      lost: () => online.forget(),
      note: Effect.ignore(outbox.flush)
    })

    /** Answers to what we never asked and messages of strangers are of no use here; and no error is ever answered. */
    const hear = (stanza: Element) => {
      switch (stanza.getName()) {
        case "iq":
          return stanza.attrs["type"] === "get" || stanza.attrs["type"] === "set" ? request(stanza) : undefined
        case "message":
          return stanza.attrs["type"] === "error" ? comeBack(stanza) : privileged(stanza)
        case "presence":
          return present(stanza)
      }
    }

    const request = (stanza: Element) => {
      const { from: given = "" } = stanza.attrs
      const from = Jid.bareOf(given) ?? given
      const unread = component.unreadAnswers()
      if (unread > mostUnread) return stall()
      if (unread === 0) stalled = false
      if (unread > maxUnread || !requests.begin(from)) return void component.reply(Replies.error(stanza, tooMany))
      run(
        operations(stanza).pipe(
          Effect.flatMap((reply) => answer(stanza, reply)),
          Effect.ensuring(Effect.sync(() => requests.end(from)))
        )
      )
    }

    /** A flood whose answers nobody reads: it gets no more of them, and its requests come to nothing. */
    let stalled = false
    const stall = () => {
      if (stalled) return
      stalled = true
      run(Effect.logWarning("XMPP: the server does not read what it is sent; requests are not answered until it does"))
    }

    const comeBack = (error: Element) => {
      const bounce = bounceOf(error)
      if (bounce === undefined || !bounces.begin(bounce.from)) return
      const row = inRow[bounce.subscriptionId % rows]
      if (row === undefined) return bounces.end(bounce.from)
      run(Effect.ensuring(row.withPermit(recordBounce(bounce)), Effect.sync(() => bounces.end(bounce.from))))
    }

    const present = (presence: Element) => {
      const wanted = Replies.presences(presence)
      if (wanted !== "" && component.unreadAnswers() <= mostUnread) component.reply(wanted)
      const came = online.hear(presence)
      if (came !== undefined && !returning.has(came)) welcomeBack(came)
    }

    /** Takes no places of requests: many come online together. Whoever cannot be seen to is forgotten, so that their next presence tries again. */
    const welcomeBack = (jid: string) => {
      if (returning.size >= mostReturning) return online.forget(jid)
      returning.add(jid)
      run(
        returns.withPermit(resumeJid(jid)).pipe(
          Effect.map((done) => done ? undefined : online.forget(jid)),
          Effect.ensuring(Effect.sync(() => returning.delete(jid)))
        )
      )
    }

    /** Said by the server after each connection, if it is set up so (XEP-0356); from then on it sends presences unasked. */
    const privileged = (message: Element) => {
      const granted = message.getChild("privilege", ns.privilege)
      if (granted === undefined || Jid.domainOf(message.attrs["from"] ?? "") !== Jid.domainOf(config.domain)) return
      if (childrenOf(granted).some(({ attrs }) => attrs["access"] === "presence" && attrs["type"] !== "none")) {
        run(Effect.logInfo("XMPP: the server tells who is online"))
      }
    }

    /** What cannot be sent is told to whoever waits for it; where not even that can be sent, to the operator. */
    const answer = (stanza: Element, reply: string) => {
      const problem = component.reply(reply)
      const worse = problem === undefined
        ? undefined
        : component.reply(Replies.error(stanza, Conditions.unsendable(problem)))
      return worse === undefined
        ? Effect.void
        : Effect.logWarning(`XMPP: a request of ${quote(stanza.attrs["from"] ?? "")} is not answered: ${worse}`)
    }

    const deliver = ({ id, messages }: LocalComponent.MessageBatch) => component.deliver(id, messages)

    const here = yield* LocalComponent.LocalComponent
    yield* Effect.acquireRelease(
      Effect.sync(() => void (here.component = { deliver })),
      () => Effect.sync(() => void (here.component = undefined))
    )

    return Xmpp.of({
      Wake: () => Effect.void,
      Deliver: ({ payload }) => deliver(payload),
      Online: ({ payload: { jids } }) => Effect.sync(() => jids.map((jid) => online.of(jid)))
    })
  }),
  { maxIdleTime: "Infinity", concurrency: "unbounded", mailboxCapacity: "unbounded" }
)

const tooMany = Conditions.overloaded("There are too many requests at once; wait for the answers, then send more.")

/** What is being seen to, by the address that sent it. */
class InFlight {
  readonly #most: number
  readonly #mostOfOne: number
  readonly #byAddress = new Map<string, number>()
  #count = 0

  constructor(most: number, mostOfOne: number) {
    this.#most = most
    this.#mostOfOne = mostOfOne
  }

  /** False when there are too many. */
  begin(from: string): boolean {
    const ofOne = this.#byAddress.get(from) ?? 0
    if (this.#count >= this.#most || ofOne >= this.#mostOfOne) return false
    this.#byAddress.set(from, ofOne + 1)
    this.#count++
    return true
  }

  end(from: string): void {
    const left = (this.#byAddress.get(from) ?? 1) - 1
    if (left === 0) this.#byAddress.delete(from)
    else this.#byAddress.set(from, left)
    this.#count--
  }
}

/** The component must be connected although nobody calls: whoever holds its shard wakes it. */
const layerWake = Layer.effectDiscard(Effect.gen(function*() {
  const sharding = yield* Sharding.Sharding
  const client = yield* Xmpp.client
  const mine = Effect.sync(() => sharding.hasShardId(sharding.getShardId(EntityId.make(entityId), "default")))
  let awake = false
  yield* Effect.gen(function*() {
    const held = yield* mine
    if (held && !awake) {
      awake = yield* Effect.match(client(entityId).Wake(), {
        onFailure: () => false,
        onSuccess: () => true
      })
    }
    if (!held) awake = false
  }).pipe(
    Effect.catchCause((cause) => Effect.logError("XMPP: waking the component failed and goes on", cause)),
    Effect.repeat(Schedule.spaced("500 millis")),
    Effect.forkScoped
  )
}))

/** The component, where the settings want it. */
export const layer = Layer.unwrap(
  Settings.useSync((settings) =>
    configOf(settings) === undefined ? Layer.empty : layerWake.pipe(Layer.provide(layerEntity))
  )
).pipe(Layer.provide(LocalComponent.layer))
