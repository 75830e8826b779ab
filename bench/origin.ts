/**
 * The outside world of the benchmarks, in a separate process: feeds and a sink, on all addresses of the machine.
 *
 * `/304/N` has validators, `/200/N` has none and the same 42 kB, `/new/N` has one new entry of 25 at each fetch. `/calm/N` asks for one poll
 * an hour. `POST` is the sink.
 * `/ctl/publish` adds an entry to `/304/…`, `/ctl/renew/N` one to `/calm/N`. `/ctl/stats` counts, `/ctl/posted` returns the times of the
 * sink's requests by path, and `/ctl/polled` the number of polls by path since the call before. `/ctl/waits` returns the times from a
 * document of `/new/N` to the next request for `/hook/N` since the call before, in µs.
 * Several addresses are needed because Windhover throttles fetches by host.
 */
import { once } from "node:events"
import { createServer, type RequestListener } from "node:http"
import type { AddressInfo } from "node:net"

const filler = "Lorem ipsum dolor sit amet, consectetur adipiscing elit, sed do eiusmod tempor. ".repeat(19)
const counts = { polls: 0, posts: 0, last: 0 }
let version = 25
/** The newest entry of each feed under `/new/` and `/calm/`. */
const newest = new Map<string, number>()
/** Polls by path; undefined until the first request for them. */
let polled: Map<string, number> | undefined

const document = (feed: string, last: number): string => {
  let items = ""
  for (let n = last; n > last - 25; n--) {
    items += `<item><title>Entry ${n}</title><link>http://bench.example/${feed}/${n}</link>` +
      `<guid isPermaLink="false">urn:bench:${feed}:${n}</guid><description>${filler}</description></item>`
  }
  return `<?xml version="1.0"?><rss version="2.0"><channel><title>Feed ${feed}</title>` +
    `<link>http://bench.example/</link><description>A feed</description>${items}</channel></rss>`
}

const unchanged = new Map<string, string>()

const microseconds = () => Number(process.hrtime.bigint() / 1000n)

/** Times of the sink's requests, by path. */
const posted: Record<string, Array<number>> = {}

/** Time of the last document of each feed under `/new/`, and the times from there to its callback. */
const answered = new Map<string, number>()
const waits: Array<number> = []

const control = (operation: string, feed: string): unknown => {
  if (operation === "publish") version++
  if (operation === "renew") newest.set(feed, (newest.get(feed) ?? 25) + 1)
  if (operation === "posted") return posted
  if (operation === "waits") return waits.splice(0)
  if (operation !== "polled") return { ...counts, now: microseconds() }
  const before = polled
  polled = new Map()
  return Object.fromEntries(before ?? [])
}

const answer: RequestListener = (request, response) => {
  const [, kind = "", feed = "", index = ""] = (request.url ?? "").split("/")
  if (kind === "ctl") return void response.end(JSON.stringify(control(feed, index)))
  if (request.method === "POST") {
    return void request.resume().on("end", () => {
      counts.posts++
      counts.last = microseconds()
      const since = answered.get(feed)
      if (kind === "hook" && since !== undefined) waits.push(counts.last - since)
      ;(posted[request.url ?? ""] ??= []).push(counts.last)
      response.end()
    })
  }
  counts.polls++
  polled?.set(request.url ?? "", (polled.get(request.url ?? "") ?? 0) + 1)
  if (kind === "304" || kind === "calm") {
    const last = kind === "304" ? version : newest.get(feed) ?? 25
    const headers = kind === "304" ? { etag: `"${last}"` } : { etag: `"${last}"`, "cache-control": "max-age=3600" }
    if (request.headers["if-none-match"] === headers.etag) return void response.writeHead(304, headers).end()
    return void response.writeHead(200, headers).end(document(feed, last))
  }
  if (kind === "new") {
    const next = (newest.get(feed) ?? 25) + 1
    newest.set(feed, next)
    response.end(document(feed, next))
    return void answered.set(feed, microseconds())
  }
  let body = unchanged.get(feed)
  if (body === undefined) unchanged.set(feed, body = document(feed, 25))
  response.end(body)
}

const listen = async (host: string, port: number): Promise<number> => {
  const server = createServer(answer).listen(port, host)
  await once(server, "listening")
  return (server.address() as AddressInfo).port
}

const port = await listen("0.0.0.0", 0)
process.stdout.write(`${port}\n`)
process.once("disconnect", () => process.exit(0))
