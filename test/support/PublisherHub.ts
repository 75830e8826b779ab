import { Effect, Layer } from "effect"
import { createHmac, randomBytes } from "node:crypto"
import { type IncomingMessage, request as httpRequest, type ServerResponse } from "node:http"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import * as ConversationWorld from "./ConversationWorld.ts"
import { httpServer } from "./HttpServer.ts"
import { freePort } from "./Service.ts"
import { awaitCondition } from "./AwaitCondition.ts"

/** The hub's record of a subscriber. */
interface Subscriber {
  readonly callback: string
  readonly topic: string
  readonly secret: string | undefined
  readonly lease: number
}

/** An answer of a subscriber's callback. */
interface Reply {
  readonly status: number
  readonly body: string
}

interface Page {
  readonly type: string
  readonly body: string
  readonly link?: string
}

/** A notification to the webhook of a Windhover subscription. */
interface ReceivedNotification {
  readonly body: string
  readonly type: string
}

/**
 * A publisher with a hub, and a webhook, on 127.0.0.1. The hub follows the W3C recommendation alone.
 *
 * The hub rejects incomplete requests, verifies each subscription, sends `Link` and `X-Hub-Signature`, and removes subscribers after a 410.
 *
 * @see https://www.w3.org/TR/websub/
 */
export interface PublisherHub {
  readonly url: string
  readonly hub: string
  readonly webhook: string
  readonly received: ReadonlyArray<ReceivedNotification>
  /** Forms of the hub's requests, in order. */
  readonly requests: ReadonlyArray<URLSearchParams>
  /** Verified subscribers by callback and topic. */
  readonly subscribers: ReadonlyMap<string, Subscriber>
  /** Number of GETs of a path. */
  readonly fetches: (path: string) => number
  readonly serve: (path: string, page: Page) => void
  /** The hub redirects its next requests with this status, this many times. */
  redirect: { readonly status: number; readonly times: number } | undefined
  /**
   * Sends content to all subscribers of a topic and returns their answers. `signature` and `origin` replace the right signature and the
   * callback's origin.
   */
  readonly distribute: (
    topic: string,
    page: Page,
    options?: { readonly method?: string; readonly signature?: string | null; readonly origin?: string }
  ) => Effect.Effect<ReadonlyArray<number>>
  /** Asks a callback for confirmation, and returns the answer. */
  readonly verify: (callback: string, parameters: Record<string, string>) => Effect.Effect<Reply>
  /** Resolves when `condition` holds; checked at each request. */
  readonly until: (condition: () => boolean) => Effect.Effect<void>
}

const call = (url: string, method: string, headers: Record<string, string> = {}, body = ""): Promise<Reply> =>
  new Promise((resolve, reject) => {
    const request = httpRequest(url, { method, headers }, (response) => {
      let text = ""
      response.setEncoding("utf8").on("data", (chunk: string) => text += chunk)
      response.on("end", () => resolve({ status: response.statusCode ?? 0, body: text }))
    })
    request.on("error", reject)
    request.end(body)
  })

const textOf = async (request: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk)
  return text
}

export const openPublisherHub = Effect.gen(function*() {
  const pages = new Map<string, Page>()
  const fetched = new Map<string, number>()
  const received: Array<ReceivedNotification> = []
  const requests: Array<URLSearchParams> = []
  const subscribers = new Map<string, Subscriber>()
  const waiting = new Set<() => void>()
  const check = () => {
    for (const one of waiting) one()
  }

  const verify = (callback: string, parameters: Record<string, string>) => {
    const url = new URL(callback)
    for (const [name, value] of Object.entries(parameters)) url.searchParams.append(name, value)
    return call(url.href, "GET")
  }

  /** Section 5.3: the subscriber confirms with 2xx and the challenge; otherwise the subscription has failed. */
  const confirm = async (form: URLSearchParams) => {
    const [callback = "", topic = "", mode = ""] = ["hub.callback", "hub.topic", "hub.mode"].map((name) =>
      form.get(name) ?? ""
    )
    const lease = Number(form.get("hub.lease_seconds") ?? 3600)
    const challenge = randomBytes(12).toString("hex")
    const { body, status } = await verify(callback, {
      "hub.mode": mode,
      "hub.topic": topic,
      "hub.challenge": challenge,
      ...(mode === "subscribe" ? { "hub.lease_seconds": String(lease) } : {})
    })
    const key = `${callback} ${topic}`
    if (status >= 200 && status < 300 && body === challenge) {
      if (mode === "subscribe") {
        subscribers.set(key, { callback, topic, secret: form.get("hub.secret") ?? undefined, lease })
      } else subscribers.delete(key)
    }
    check()
  }

  /**
   * Section 5.1: hub.callback, hub.mode and hub.topic are required, a secret has less than 200 bytes, and unknown parameters are ignored.
   */
  const problemOf = (request: IncomingMessage, form: URLSearchParams): string | undefined => {
    if (request.headers["content-type"] !== "application/x-www-form-urlencoded") return "not a form"
    if (!["subscribe", "unsubscribe"].includes(form.get("hub.mode") ?? "")) return "no mode"
    if (!URL.canParse(form.get("hub.callback") ?? "")) return "no callback"
    if (!pages.has(new URL(form.get("hub.topic") ?? "", url).pathname)) return "no topic of this hub"
    return Buffer.byteLength(form.get("hub.secret") ?? "") < 200 ? undefined : "a long secret"
  }

  const answerHub = async (request: IncomingMessage, response: ServerResponse) => {
    const form = new URLSearchParams(await textOf(request))
    const { redirect } = state
    if (redirect !== undefined && redirect.times > 0) {
      state.redirect = { ...redirect, times: redirect.times - 1 }
      return void response.writeHead(redirect.status, { location: `/hub?${redirect.times}` }).end()
    }
    requests.push(form)
    const problem = problemOf(request, form)
    if (problem !== undefined) return void response.writeHead(400).end(problem)
    response.writeHead(202).end()
    await confirm(form)
  }

  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const { pathname } = new URL(request.url ?? "/", "http://a.test")
    if (pathname === "/hub" && request.method === "POST") return await answerHub(request, response)
    if (pathname === "/webhook") {
      received.push({ body: await textOf(request), type: request.headers["content-type"] ?? "" })
      response.end()
      return check()
    }
    const page = pages.get(pathname)
    fetched.set(pathname, (fetched.get(pathname) ?? 0) + 1)
    response.writeHead(page === undefined ? 404 : 200, {
      "content-type": page?.type ?? "text/plain",
      ...(page?.link === undefined ? {} : { link: page.link })
    })
    response.end(page?.body)
    check()
  }

  const url = yield* httpServer(handle)
  const hub = `${url}/hub`

  /** Section 7: the content of the topic or a part, with Link and the signature. */
  const send = async (
    { callback, secret, topic }: Subscriber,
    { body, type }: Page,
    method: string,
    signature: string | null | undefined
  ) => {
    const right = `${method}=${createHmac(method, secret ?? "").update(body).digest("hex")}`
    const { status } = await call(callback, "POST", {
      "content-type": type,
      link: `<${hub}>; rel="hub", <${topic}>; rel="self"`,
      ...(signature === null || secret === undefined ? {} : { "x-hub-signature": signature ?? right })
    }, body)
    if (status === 410) subscribers.delete(`${callback} ${topic}`)
    return status
  }

  const state: PublisherHub = {
    url,
    hub,
    webhook: `${url}/webhook`,
    received,
    requests,
    subscribers,
    fetches: (path) => fetched.get(path) ?? 0,
    serve: (path, page) => void pages.set(path, page),
    redirect: undefined,
    distribute: (topic, page, { method = "sha256", origin, signature } = {}) =>
      Effect.promise(() =>
        Promise.all(
          [...subscribers.values()].filter((one) => one.topic === topic).map((one) =>
            send(
              origin === undefined ? one : { ...one, callback: new URL(new URL(one.callback).pathname, origin).href },
              page,
              method,
              signature
            )
          )
        )
      ),
    verify: (callback, parameters) => Effect.promise(() => verify(callback, parameters)),
    until: awaitCondition(waiting)
  }
  return state
})

/** A service that hubs can reach: its port is chosen before the start. */
export const layerWith = (settings: Partial<SettingsValues> = {}) =>
  Layer.unwrap(
    Effect.map(freePort, (port) =>
      ConversationWorld.layerWith({ port, baseUrl: `http://127.0.0.1:${port}`, upstreamHubs: true, ...settings }))
  )
