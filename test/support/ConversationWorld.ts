import { assert } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Schedule } from "effect"
import { TestRunner } from "effect/cluster"
import { HttpServer } from "effect/http"
import { Hub } from "#actors/operations/Hub.ts"
import * as ActorsLayer from "#actors/ActorsLayer.ts"
import * as Senders from "#actors/subscription/Senders.ts"
import { rights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { ResourceStore } from "#domain/ports/ResourceStore.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import * as Routes from "#http/Routes.ts"
import * as HttpServerNode from "#layers/server/HttpServerNode.ts"
import * as Settings from "#layers/Settings.ts"
import { layerOutbound } from "#main/Windhover.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"
import * as Version from "#layers/outbound/Version.ts"
import type { World } from "./Conversation.ts"
import { openFakeWeb } from "./FakeWeb.ts"
import { open } from "./RawHttp.ts"

const baseUrl = "http://windhover.test"

/** Hosts of the publishers, known at the start of a conversation. */
const publishers: Array<SettingsValues["publishers"][number]> = []

/** The service with real actors, network and server, over a database for tests. All conversations share one. */
export const layerWith = (settings: Partial<SettingsValues>) =>
  Routes.layerServed.pipe(
    Layer.provideMerge(HttpServerNode.layer),
    Layer.provideMerge(ActorsLayer.layer.pipe(Layer.provide([Senders.layer, TestRunner.layer]))),
    Layer.provideMerge(MemoryStores.layer),
    Layer.provide([layerOutbound, Version.layer]),
    Layer.provide(
      Settings.layerValues({
        port: 0,
        host: "127.0.0.1",
        allowPrivate: true,
        baseUrl,
        publishers,
        retry: "short",
        ...settings
      })
    )
  )

/** A high limit, because all conversations have their callbacks on one address. */
export const layer = layerWith({ hubQuestionsPerMinute: 1_000 })

const basic = (login: string, secret: string) => `Basic ${Buffer.from(`${login}:${secret}`).toString("base64")}`

/** An Atom feed, newest entry first, each entry a second older than the one before. */
const feedOf = (ids: ReadonlyArray<string>) =>
  `<feed xmlns="http://www.w3.org/2005/Atom"><title>A feed</title>${ids.map(entryOf).join("")}</feed>`

/** `b!` is entry b with an update now. */
const entryOf = (name: string, index: number) => {
  const id = name.replace("!", "")
  const published = new Date(1_700_000_000_000 - index * 1000).toISOString()
  const updated = id === name ? "" : `<updated>${new Date().toISOString()}</updated>`
  return `<entry><id>${id}</id><title>Entry ${name}</title><published>${published}</published>${updated}</entry>`
}

/** A command of `=` lines. `perform` gets the groups of the pattern. */
type Command = readonly [pattern: RegExp, perform: (...groups: ReadonlyArray<string>) => Effect.Effect<void>]

let worlds = 0

/**
 * A world for one conversation: alice has an account with the password `wonder`, and `{{alice}}` is her Authorization header. Logins end in
 * a number, so that conversations do not share accounts.
 */
export const makeWorld = Effect.gen(function*() {
  const accounts = yield* AccountStore
  const faults = yield* MemoryStores.Faults
  const resources = yield* ResourceStore
  const subscriptions = yield* SubscriptionStore
  const { address } = yield* HttpServer.HttpServer
  const { publish: offer, ready } = yield* Hub
  const publish = (topics: ReadonlyArray<string>) => Effect.orDie(offer(topics))
  const outside = yield* openFakeWeb
  const connect = open("port" in address ? address.port : 0)
  const world = ++worlds
  const words: Record<string, string> = {
    outside: outside.url,
    encoded: encodeURIComponent(outside.url),
    base: baseUrl
  }

  const join = Effect.fnUntraced(function*(login: string, password: string) {
    const account = yield* Effect.orDie(accounts.create(`${login}${world}`, Redacted.make(password)))
    words[login] = basic(account.login, password)
    return account
  })

  const alice = yield* join("alice", "wonder")
  words["parameter"] = words["alice"]?.replace("Basic ", "") ?? ""

  const giveToken = Effect.fnUntraced(function*(name: string, granted: string) {
    const wanted = rights.filter((right) => granted.split(", ").includes(right))
    const { secret } = yield* Effect.orDie(accounts.createToken({ accountId: alice.id, name, rights: wanted }))
    words[name] = basic(alice.login, Redacted.value(secret))
  })

  /** Subscribes through the API, and waits for the first fetch. */
  const subscribe = Effect.fnUntraced(function*(login: string, path: string, callback: string, more: string) {
    const connection = yield* connect
    const fields = new URLSearchParams(more)
    fields.append("hub.mode", "subscribe")
    fields.append("hub.topic", outside.url + path)
    fields.append("hub.callback", callback.startsWith("/") ? outside.url + callback : callback)
    fields.append("retrieve", "true")
    const body = fields.toString()
    yield* connection.send(
      `POST / HTTP/1.1\r\nHost: a\r\nAuthorization: ${words[login]}\r\n` +
        `Content-Type: application/x-www-form-urlencoded\r\nContent-Length: ${body.length}\r\n\r\n${body}`
    )
    const { status } = yield* connection.receive()
    assert.strictEqual(status, 200)
  }, Effect.scoped)

  /** Stores subscriptions directly: of a JID, or more than the API could create in reasonable time. */
  const store = (topic: string, channel: "webhook" | "xmpp", endpoint: string, host: string) =>
    subscriptions.subscribe({
      accountId: alice.id,
      topic: { given: topic, canonical: topic, host: "127.0.0.1" },
      partition: 1,
      channel,
      endpoint,
      host,
      face: "api",
      state: "paused"
    }).pipe(Effect.orDie)

  /** Stores a value that otherwise maintenance computes. */
  const rank = Effect.fnUntraced(function*(path: string, name: string, value: number) {
    const resource = yield* Effect.flatMap(resources.find(outside.url + path), Effect.fromOption)
    yield* resources.record({ state: { ...resource, [name]: value }, entries: [], updated: [], announce: undefined })
  }, Effect.orDie)

  const failed = (path: string) =>
    resources.find(outside.url + path).pipe(
      Effect.repeat({
        until: (found) => Option.exists(found, ({ failures }) => failures > 0),
        schedule: Schedule.spaced("10 millis")
      }),
      Effect.orDie
    )

  const page = (status: string, contentType: string, body: string) => ({ status: Number(status), contentType, body })
  const text = (status = "", body = "") => page(status, "text/plain", body)
  const commands: ReadonlyArray<Command> = [
    [/^(\w+) has an account$/, (login = "") => Effect.asVoid(join(login, "secret"))],
    [
      /^the token (\w+) may (.*)$/,
      (name = "", granted = "") => giveToken(name, granted)
    ],
    [
      /^(\S+) is a feed of (.*)$/,
      (path = "", ids = "") =>
        Effect.sync(() => outside.publish(path, page("200", "application/atom+xml", feedOf(ids.split(", ")))))
    ],
    [
      /^(\S+) has news and is a feed of (.*)$/,
      (path = "", ids = "") =>
        Effect.suspend(() => {
          outside.publish(path, page("200", "application/atom+xml", feedOf(ids.split(", "))))
          return publish([outside.url + path])
        })
    ],
    [
      /^(\S+) has news and is (\S+) (.*)$/,
      (path = "", type = "", body = "") =>
        Effect.suspend(() => {
          outside.publish(path, page("200", type, body))
          return publish([outside.url + path])
        })
    ],
    [
      /^(\S+) has news and fails with (\d+)$/,
      (path = "", status = "") =>
        Effect.gen(function*() {
          outside.publish(path, text(status))
          yield* publish([outside.url + path])
          yield* failed(path) // a single failure is not reported
          yield* publish([outside.url + path])
        })
    ],
    [
      /^(\S+) is (\S+) (.*)$/,
      (path = "", type = "", body = "") => Effect.sync(() => outside.publish(path, page("200", type, body)))
    ],
    [
      /^(\S+) redirects to (\S+)$/,
      (path = "", target = "") => Effect.sync(() => outside.publish(path, { ...text("302"), location: target }))
    ],
    [/^(\S+) fails with (\d+)$/, (path = "", status = "") => Effect.sync(() => outside.publish(path, text(status)))],
    [
      /^callback (\S+) answers (\d+) ?(.*)$/,
      (path = "", status, body) => Effect.sync(() => outside.answer(path, text(status, body)))
    ],
    [
      /^(\w+) subscribed (\S+) to (\S+) ?(.*)$/,
      (login = "", callback = "", path = "", more = "") => subscribe(login, path, callback, more)
    ],
    [
      /^the JID (\S+) is subscribed to (\S+)$/,
      (jid = "", path = "") => Effect.asVoid(store(outside.url + path, "xmpp", jid, jid.split("@")[1] ?? ""))
    ],
    [
      /^(\d+) feeds are subscribed with (\S+)$/,
      (count = "", callback = "") =>
        Effect.forEach(
          Array.from({ length: Number(count) }, (_, i) => `${outside.url}/many/${i}`),
          (topic) => store(topic, "webhook", outside.url + callback, "127.0.0.1"),
          { discard: true }
        )
    ],
    [
      /^(\S+) has the (velocity|popularity|pornRank|bozoRank) (\S+)$/,
      (path = "", name = "", value = "") => rank(path, name, Number(value))
    ],
    [
      /^the publisher of (\S+) has the secret (\S+)$/,
      (path = "", secret = "") =>
        Effect.sync(() => void publishers.push({ prefix: outside.url + path, secret: Redacted.make(secret) }))
    ],
    [/^the database is away$/, () => faults.down],
    [/^the database is back$/, () => faults.up]
  ]

  const perform = (said: string): Effect.Effect<void> => {
    for (const [pattern, run] of commands) {
      const found = pattern.exec(said)
      if (found !== null) return run(...found.slice(1))
    }
    return Effect.die(new Error(`nobody knows how to do this: ${said}`))
  }

  yield* ready.pipe(Effect.repeat({ until: (awake) => awake, schedule: Schedule.spaced("10 millis") }))
  return { connect, perform, received: outside.received, words } satisfies World
})
