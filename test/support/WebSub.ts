import { assert } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { HttpServer } from "effect/http"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Hub } from "#actors/operations/Hub.ts"
import { httpServer } from "./HttpServer.ts"

/** A request to a subscriber, in its bytes. */
interface Call {
  readonly method: string
  readonly path: string
  /** The query on the wire, without the question mark. */
  readonly query: string
  readonly parameters: URLSearchParams
  readonly headers: IncomingMessage["headers"]
  /** Values of a repeated header. */
  readonly all: (name: string) => ReadonlyArray<string>
  readonly body: Buffer
}

interface Reply {
  readonly status: number
  readonly body?: string
  readonly location?: string
}

/** Content of a topic. */
interface Content {
  readonly type: string
  readonly bytes: Uint8Array
}

/**
 * The other two parties of WebSub on 127.0.0.1, written against the recommendation alone: a publisher with the test's topics, and a
 * subscriber that records requests and by default answers as the recommendation requires.
 */
interface Parties {
  readonly url: string
  readonly publish: (path: string, content: Content) => void
  readonly answer: (path: string, reply: (call: Call) => Reply) => void
  readonly calls: (path: string, method: string) => ReadonlyArray<Call>
  /** The n-th call of this kind, counted from 1. Waits for the call. */
  readonly nth: (path: string, method: string, n: number) => Effect.Effect<Call>
}

const openParties = Effect.gen(function*() {
  const topics = new Map<string, Content>()
  const replies = new Map<string, (call: Call) => Reply>()
  const all: Array<Call> = []
  const waiting = new Set<() => void>()

  const good = (call: Call): Reply => ({ status: 200, body: call.parameters.get("hub.challenge") ?? "" })

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const [path = "", query = ""] = (request.url ?? "").split("?", 2)
    const chunks: Array<Buffer> = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const topic = topics.get(path)
    if (topic !== undefined) {
      response.writeHead(200, { "content-type": topic.type })
      return void response.end(topic.bytes)
    }
    const { headers, rawHeaders, method = "" } = request
    const values = (name: string) =>
      rawHeaders.flatMap((_, i) =>
        i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name ? [rawHeaders[i] ?? ""] : []
      )
    const parameters = new URLSearchParams(query)
    const call: Call = { method, path, query, parameters, headers, all: values, body: Buffer.concat(chunks) }
    all.push(call)
    const reply = (replies.get(path) ?? good)(call)
    response.writeHead(reply.status, reply.location === undefined ? {} : { location: reply.location })
    response.end(reply.body)
    for (const look of waiting) look()
  }

  const url = yield* httpServer(handle)

  const calls = (path: string, method: string) => all.filter((call) => call.path === path && call.method === method)
  const nth = (path: string, method: string, n: number) =>
    Effect.callback<Call>((resume) => {
      const look = () => {
        const call = calls(path, method)[n - 1]
        if (call === undefined) return
        waiting.delete(look)
        resume(Effect.succeed(call))
      }
      waiting.add(look)
      look()
      return Effect.sync(() => void waiting.delete(look))
    })

  return {
    url,
    publish: (path, content) => void topics.set(path, content),
    answer: (path, reply) => void replies.set(path, reply),
    calls,
    nth
  } satisfies Parties
})

/** The parties, and a hub by its URL. */
export interface Stage extends Parties {
  readonly hub: string
  /** Posts a form. Pass fields as pairs to repeat one. */
  readonly post: (
    fields: Record<string, string> | ReadonlyArray<readonly [string, string]>
  ) => Effect.Effect<{ readonly status: number; readonly body: string; readonly headers: Headers }>
  /** Fields of a request that subscribes `/callback` to `/topic`. */
  readonly subscription: (more?: Record<string, string>) => Record<string, string>
  /** Subscribes, and waits for the callback's confirmation. */
  readonly subscribed: (more?: Record<string, string>) => Effect.Effect<void>
  /** Replaces the content of the topic, and pings the hub. */
  readonly update: (content: string | Uint8Array, type?: string) => Effect.Effect<void>
}

export const bytesOf = (content: string | Uint8Array) => typeof content === "string" ? Buffer.from(content) : content

export const makeStage = Effect.gen(function*() {
  const parties = yield* openParties
  const { address } = yield* HttpServer.HttpServer
  const { ready } = yield* Hub
  yield* ready.pipe(Effect.repeat({ until: (awake) => awake, schedule: Schedule.spaced("10 millis") }))
  const hub = `http://127.0.0.1:${"port" in address ? address.port : 0}/hub`

  const post: Stage["post"] = (fields) =>
    Effect.promise(async () => {
      const body = new URLSearchParams()
      for (const [name, value] of Array.isArray(fields) ? fields : Object.entries(fields)) body.append(name, value)
      const answer = await fetch(hub, { method: "POST", body, redirect: "manual" })
      return { status: answer.status, body: await answer.text(), headers: answer.headers }
    })

  const subscription: Stage["subscription"] = (more = {}) => ({
    "hub.mode": "subscribe",
    "hub.topic": `${parties.url}/topic`,
    "hub.callback": `${parties.url}/callback`,
    ...more
  })

  const subscribed: Stage["subscribed"] = Effect.fnUntraced(function*(more = {}) {
    const fields = subscription(more)
    const path = new URL(fields["hub.callback"] ?? "").pathname
    const count = parties.calls(path, "GET").length
    assert.strictEqual((yield* post(fields)).status, 202)
    yield* parties.nth(path, "GET", count + 1)
  })

  const update: Stage["update"] = Effect.fnUntraced(function*(content, type = "text/plain") {
    parties.publish("/topic", { type, bytes: bytesOf(content) })
    assert.strictEqual((yield* post({ "hub.mode": "publish", "hub.url": `${parties.url}/topic` })).status, 204)
  })

  parties.publish("/topic", { type: "text/plain", bytes: Buffer.from("first") })
  return { ...parties, hub, post, subscription, subscribed, update } satisfies Stage
})
