/** Latency from the push of a publisher's hub to the callback. This process runs the feed, its hub and the callback. */
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { createServer, type IncomingMessage } from "node:http"
import type { AddressInfo } from "node:net"
import { setTimeout as sleep } from "node:timers/promises"
import { start } from "./Service.ts"

/** The first third is the warm-up. */
const pushCount = 150

/** Pause between two pushes, in ms. A write may wait up to 0.1 s for the write before. */
const pauseMs = 250

const readText = async (request: IncomingMessage): Promise<string> => {
  let text = ""
  for await (const chunk of request.setEncoding("utf8")) text += String(chunk)
  return text
}

const feed = (n: number): string =>
  `<feed xmlns="http://www.w3.org/2005/Atom"><title>A feed</title><entry><id>${n}</id><title>Entry ${n}</title></entry></feed>`

/** Latencies of the pushes in ms, the shortest first. */
export const measurePushes = async (): Promise<ReadonlyArray<number>> => {
  const subscribed = Promise.withResolvers<{ readonly callback: string; readonly secret: string }>()
  let received = Promise.withResolvers<void>()

  const confirm = async (form: URLSearchParams) => {
    const callback = form.get("hub.callback") ?? ""
    const question = new URLSearchParams({
      "hub.mode": "subscribe",
      "hub.topic": form.get("hub.topic") ?? "",
      "hub.challenge": "a challenge",
      "hub.lease_seconds": "86400"
    })
    const answer = await fetch(`${callback}?${question}`)
    if (await answer.text() !== "a challenge") throw new Error(`${callback}: ${answer.status}`)
    subscribed.resolve({ callback, secret: form.get("hub.secret") ?? "" })
  }

  const server = createServer((request, response) => {
    if (request.url === "/feed") {
      response.writeHead(200, {
        "content-type": "application/atom+xml",
        link: `<${hub}>; rel=hub, <${topic}>; rel=self`
      })
      return void response.end(feed(0))
    }
    void readText(request).then(async (body) => {
      response.writeHead(request.url === "/hub" ? 202 : 204).end()
      if (request.url === "/hub") await confirm(new URLSearchParams(body))
      else received.resolve()
    })
  }).listen(0, "127.0.0.1")
  await once(server, "listening")
  const [topic, hub, callback] = ["feed", "hub", "callback"].map((path) =>
    `http://127.0.0.1:${(server.address() as AddressInfo).port}/${path}`
  )

  const service = await start(3600, undefined, { WINDHOVER_UPSTREAM_HUBS: "true" })
  await service.call({
    "hub.mode": "subscribe",
    "hub.topic": `${topic}`,
    "hub.callback": `${callback}`,
    retrieve: "true"
  })
  const subscriber = await subscribed.promise
  const waits: Array<number> = []
  for (let n = 1; n <= pushCount; n++) {
    const body = feed(n)
    received = Promise.withResolvers()
    const began = performance.now()
    await fetch(subscriber.callback, {
      method: "POST",
      headers: {
        "content-type": "application/atom+xml",
        link: `<${hub}>; rel="hub", <${topic}>; rel="self"`,
        "x-hub-signature": `sha256=${createHmac("sha256", subscriber.secret).update(body).digest("hex")}`
      },
      body
    })
    await received.promise
    waits.push(performance.now() - began)
    await sleep(pauseMs)
  }
  await service.stop()
  server.close()
  server.closeAllConnections()
  return waits.slice(pushCount / 3).toSorted((a, b) => a - b)
}
