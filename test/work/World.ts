import { Effect, type Scope } from "effect"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { awaitCondition } from "#test/support/AwaitCondition.ts"

/** Feeds and webhooks on sixteen hosts. A feed under `/same` never changes, one under `/new` at each fetch, one under `/calm` after `publish`. */
export interface World {
  readonly polls: () => number
  readonly posts: () => number
  readonly feed: (kind: "same" | "new" | "calm", index: number) => string
  readonly hook: (index: number) => string
  /** Adds an entry to a feed under `/calm`. Windhover polls such a feed only after pings. */
  readonly publish: (feed: string) => void
  /** Resolves when the condition holds; checked at each request. */
  readonly until: (condition: () => boolean) => Effect.Effect<void>
}

const hostCount = 16
const text = "Lorem ipsum dolor sit amet, consectetur adipiscing elit. ".repeat(20)

const render = (last: number): string => {
  const items = Array.from(
    { length: 25 },
    (_, i) =>
      `<item><title>Entry ${last - i}</title><guid isPermaLink="false">urn:${last - i}</guid>`
      + `<description>${text}</description></item>`
  )
  return `<rss version="2.0"><channel><title>A feed</title>${items.join("")}</channel></rss>`
}

export const openWorld: Effect.Effect<World, never, Scope.Scope> = Effect.gen(function*() {
  const waiting = new Set<() => void>()
  const newest = new Map<string, number>()
  const counts = { polls: 0, posts: 0 }
  const publish = (path: string) => void newest.set(path, (newest.get(path) ?? 25) + 1)
  const answer: http.RequestListener = (request, response) => {
    const url = request.url ?? ""
    response.once("close", () => {
      for (const check of waiting) check()
    })
    if (request.method === "POST") {
      counts.posts++
      return void request.resume().on("end", () => response.end())
    }
    counts.polls++
    if (url.startsWith("/new/")) publish(url)
    const last = newest.get(url) ?? 25
    const headers = { etag: `"${last}"`, ...(url.startsWith("/calm/") && { "cache-control": "max-age=3600" }) }
    if (request.headers["if-none-match"] === headers.etag) return void response.writeHead(304, headers).end()
    response.writeHead(200, { ...headers, "content-type": "application/rss+xml" }).end(render(last))
  }
  const listen = (host: string, port: number) =>
    Effect.acquireRelease(
      Effect.callback<http.Server>((resume) => {
        const server = http.createServer(answer).listen(port, host, () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    )
  const { port } = (yield* listen("127.0.0.1", 0)).address() as AddressInfo
  yield* Effect.forEach(Array.from({ length: hostCount - 1 }), (_, i) => listen(`127.0.0.${i + 2}`, port))
  return {
    polls: () => counts.polls,
    posts: () => counts.posts,
    feed: (kind, index) => `http://127.0.0.${1 + index % hostCount}:${port}/${kind}/${index}`,
    hook: (index) => `http://127.0.0.${1 + index % hostCount}:${port}/hook/${index}`,
    publish: (feed) => publish(new URL(feed).pathname),
    until: awaitCondition(waiting)
  }
})
