import { Clock, Context, Effect, Layer } from "effect"
import { TestRunner } from "effect/cluster"
import { type Caller, rights } from "#domain/Account.ts"
import type { Entry } from "#domain/feed/Entry.ts"
import { hashString } from "#domain/Fingerprint.ts"
import { AddressCheck } from "#domain/ports/AddressCheck.ts"
import { Deliverer, DeliveryError, type DeliveryResponse, type Parcel } from "#domain/ports/Deliverer.ts"
import { FeedReader, type ReaderError } from "#domain/ports/FeedReader.ts"
import { HubClient, type HubRequest, type HubRequestError } from "#domain/ports/HubClient.ts"
import { type Fetched, Fetcher, type FetchError, type FetchRequest } from "#domain/ports/Fetcher.ts"
import { type Intent, type IntentNotConfirmed, IntentVerifier } from "#domain/ports/IntentVerifier.ts"
import { type Selection, Selector } from "#domain/ports/Selector.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import * as ActorsLayer from "#actors/ActorsLayer.ts"
import * as ResourceLayer from "#actors/resource/ResourceLayer.ts"
import * as Senders from "#actors/subscription/Senders.ts"
import * as Settings from "#layers/Settings.ts"
import { Precedence } from "#domain/ports/Precedence.ts"
import { StrangersLedger } from "#domain/ports/StrangersLedger.ts"
import { AccountPrecedence } from "#domain/limits/AccountPrecedence.ts"
import { StrangerLedger } from "#domain/limits/StrangerLedger.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"

/** A callback's answer: a status, perhaps with a Retry-After, or a failure. */
export type Answer = (
  parcel: Parcel,
  attempt: number
) => Effect.Effect<number | Pick<DeliveryResponse, "retryAfter" | "status">, DeliveryError>

/** The web of a test: feeds as lists of ids, scripted callbacks, and a log of both. No host of `.internal` can be reached. */
export class SimulatedWeb extends Context.Service<SimulatedWeb, {
  /** Events, such as `61s poll feeds.example/a` and `121s post hooks.example/1 b,c try 0`. */
  readonly log: Array<string>
  /** Publishes ids, newest first. */
  readonly publish: (url: string, ids: ReadonlyArray<string>) => void
  /** Replaces the answers of an origin. */
  readonly serve: (url: string, fetch: (request: FetchRequest) => Effect.Effect<Fetched, FetchError>) => void
  readonly answer: (callback: string, answer: Answer) => void
  /** Replaces the verification of intent; by default callbacks confirm. */
  readonly verify: (verify: (intent: Intent) => Effect.Effect<void, IntentNotConfirmed>) => void
  /** Networks of hosts; a host without a network cannot be resolved. */
  readonly networks: Map<string, string>
  /** Replaces the hubs' answer; by default hubs accept. The n-th subscription has the callback `callback-n` and the secret `secret-n`. */
  readonly hub: (answer: (question: HubRequest) => Effect.Effect<void, HubRequestError>) => void
  /** Runs before each reading of a document. */
  readonly beforeReading: (effect: Effect.Effect<void, ReaderError>) => void
  readonly parcels: Array<Parcel>
}>()("windhover/test/SimulatedWeb") {}

/** A response with a document of ids. */
export const documentOf = (ids: ReadonlyArray<string>, status = 200): Fetched => {
  const text = JSON.stringify(ids)
  return {
    status,
    headers: {},
    body: new TextEncoder().encode(text),
    signature: hashString(text),
    finalUrl: requestedUrl
  }
}

/** Stands for the requested URL in a scripted response. */
const requestedUrl = ""

const short = (url: string) => url.replace(/^https?:\/\//, "")

const layerWeb = Layer.effectContext(Effect.gen(function*() {
  const clock = yield* Clock.Clock
  const log: Array<string> = []
  const parcels: Array<Parcel> = []
  const documents = new Map<string, ReadonlyArray<string>>()
  const origins = new Map<string, (request: FetchRequest) => Effect.Effect<Fetched, FetchError>>()
  const callbacks = new Map<string, Answer>()
  let verify: (intent: Intent) => Effect.Effect<void, IntentNotConfirmed> = () => Effect.void
  const networks = new Map<string, string>()
  const networkOf = (url: string) => networks.get(new URL(url).hostname)
  let hub: (question: HubRequest) => Effect.Effect<void, HubRequestError> = () => Effect.void
  let hubSubscriptions = 0
  let beforeReading: Effect.Effect<void, ReaderError> = Effect.void
  const note = (text: string) => void log.push(`${clock.currentTimeMillisUnsafe() / 1000}s ${text}`)

  const fetch = (request: FetchRequest) =>
    Effect.suspend(() => {
      note(`poll ${short(request.url)}`)
      const answer = origins.get(request.url)?.(request) ?? Effect.succeed(documentOf(documents.get(request.url) ?? []))
      return Effect.map(answer, (one) => one.finalUrl === requestedUrl ? { ...one, finalUrl: request.url } : one)
    })

  const post = (parcel: Parcel, isLeaseHeld?: () => boolean) =>
    Effect.suspend(() => {
      if (isLeaseHeld?.() === false) {
        return Effect.fail(new DeliveryError({ reason: { _tag: "LeaseLost", message: "Not sent." } }))
      }
      if (isElsewhere(parcel) && parcel.consent?.mayIntroduce === false) {
        note(`hold ${short(parcel.callback)}`)
        return Effect.fail(
          new DeliveryError({ reason: { _tag: "Moved", message: "Another network." }, isElsewhere: true })
        )
      }
      const attempt = Number(parcel.headers.find(([name]) => name === "X-Service-Retried")?.[1] ?? 0)
      const ids = [...new TextDecoder().decode(parcel.body).matchAll(/<entry.*?<id>(.*?)<\/id>/g)].map((match) =>
        match[1]
      )
      note(`post ${short(parcel.callback)} ${ids.join(",") || "status"} try ${attempt}`)
      parcels.push(parcel)
      const answer = callbacks.get(parcel.callback)?.(parcel, attempt) ?? Effect.succeed(200)
      return Effect.map(answer, (given) => ({
        ...(typeof given === "number" ? { status: given } : given),
        latency: 1,
        excerpt: "",
        ...(isElsewhere(parcel) ? { isElsewhere: true as const } : {})
      }))
    })

  /** Whether the callback of a stranger has moved to another network. */
  const isElsewhere = ({ callback, consent }: Parcel): boolean => {
    const network = networkOf(callback)
    return network !== undefined && consent?.isAgreed(network) === false
  }

  return Context.make(SimulatedWeb, {
    log,
    parcels,
    publish: (url, ids) => void documents.set(url, ids),
    serve: (url, origin) => void origins.set(url, origin),
    answer: (callback, answer) => void callbacks.set(callback, answer),
    verify: (answer) => void (verify = answer),
    networks,
    hub: (answer) => void (hub = answer),
    beforeReading: (effect) => void (beforeReading = effect)
  }).pipe(
    Context.add(Fetcher, { fetch }),
    Context.add(Deliverer, { post }),
    Context.add(IntentVerifier, {
      verify: (intent) => Effect.map(verify(intent), () => networkOf(intent.callback)),
      deny: ({ callback, reason }) => Effect.sync(() => note(`deny ${short(callback)} ${reason}`))
    }),
    Context.add(AddressCheck, {
      explain: (url) => Effect.succeed(new URL(url).hostname.endsWith(".internal") ? "It is internal." : undefined),
      resolveNetworks: (url) =>
        Effect.sync(() => {
          const network = networkOf(url)
          return network === undefined ? undefined : { host: network, customer: network }
        })
    }),
    Context.add(HubClient, {
      send: (question) =>
        Effect.suspend(() => {
          if (question.callback === `callback-${hubSubscriptions + 1}`) hubSubscriptions++
          note(`${question.mode} ${short(question.topic)} at ${short(question.hub)} as ${question.callback}`)
          return hub(question)
        }),
      makeCredentials: Effect.sync(() => ({
        callback: `callback-${hubSubscriptions + 1}`,
        secret: `secret-${hubSubscriptions + 1}`
      }))
    }),
    Context.add(Selector, {
      check: () => Effect.void,
      select: ({ bytes, fragment }) => Effect.sync(() => selectWords(bytes, fragment.path)),
      outline: () => Effect.succeed({ lines: [], isCut: false })
    }),
    Context.add(FeedReader, {
      read: (bytes) => Effect.suspend(() => Effect.map(beforeReading, () => readIds(bytes)))
    })
  )
}))

/** Selects the words that begin with the path. */
const selectWords = (bytes: Uint8Array, path: string): Selection => {
  const words = new TextDecoder().decode(bytes).split(/\W+/).filter((word) => word.startsWith(path.replace("$", "")))
  const body = new TextEncoder().encode(words.join(" "))
  return { matches: words.length, document: { contentType: "text/plain", body } }
}

/** Reads a document of ids; any other document is not a feed. */
const readIds = (bytes: Uint8Array) => {
  const text = new TextDecoder().decode(bytes)
  if (!text.startsWith("[")) {
    const kind = text.startsWith("<html") ? "html" : text.startsWith("{") ? "json" : "other"
    return { _tag: "NotFeed" as const, kind, reason: "mismatched tag" } as const
  }
  const entries = (JSON.parse(text) as ReadonlyArray<string>).map((id): Entry => ({
    id,
    title: { value: id, type: "text" }
  }))
  return {
    _tag: "Feed" as const,
    feed: {
      version: "atom10",
      encoding: "utf-8",
      header: { title: { value: "A feed", type: "text" } },
      entries,
      repairs: []
    },
    slices: undefined,
    skipped: 0
  }
}

/** The account of the tests. */
export const caller: Caller = {
  account: { id: 1, login: "ann", credits: 0, createdAt: 0 },
  rights: new Set(rights),
  credential: "test"
}

/** A callback without an answer: the deliverer times out after ten seconds. */
export const hangs: Answer = () =>
  Effect.andThen(
    Effect.sleep("10 seconds"),
    Effect.fail(new DeliveryError({ reason: { _tag: "Timeout", message: "The callback did not answer within 10 s." } }))
  )

/** A response with a status alone. */
export const statusOnly = (status: number, headers: Fetched["headers"] = {}): Fetched => ({
  status,
  headers,
  body: new Uint8Array(),
  signature: 0n,
  finalUrl: requestedUrl
})

/** The outside: stores in memory and a scripted web, which outlive the runners. */
export const layerOutside = Layer.mergeAll(
  MemoryStores.layer,
  layerWeb,
  Layer.sync(Precedence, () => new AccountPrecedence()),
  Layer.sync(StrangersLedger, () => new StrangerLedger()) // the default one would see the clock of each test go back
)

/** One runner with all partitions, exact polling times and the given senders. */
export const layerSending = <R>(senders: Layer.Layer<Senders.Senders, never, R>) =>
  ActorsLayer.layer.pipe(
    Layer.provide(senders),
    Layer.provide(TestRunner.layer),
    Layer.provide(Layer.succeed(ResourceLayer.Jitter, () => 0))
  )

export const layerRunner = layerSending(Senders.layer)

/**
 * The whole service between the faces and the outside, on `TestClock` and in memory, with these settings and the short retries.
 *
 * `replaced` are services in place of the ones in memory.
 */
export const layerWith = <A = never>(settings: Partial<SettingsValues>, ...replaced: ReadonlyArray<Layer.Layer<A>>) =>
  layerRunner.pipe(
    Layer.provide(Layer.mergeAll(Layer.empty, ...replaced)),
    Layer.provideMerge(layerOutside),
    Layer.provideMerge(Settings.layerValues({ retry: "short", ...settings }))
  )

export const layer = layerWith({})
