import { once } from "node:events"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import type { AddressInfo } from "node:net"

/** Hosts of the feeds, so that the limits per host do not stretch a trial. All are loopback. */
const hosts = 250

/** Entries of a feed from before the import. */
const oldEntries = ["old-1", "old-2", "old-3"]

/** Pages of the list, at least: a short list has shorter pages than requested. */
const minPages = 5

const feedPath = /^\/feed\/(\d+)$/

export interface ListedSubscription {
  readonly topic: string
  readonly folder: string
}

/** Feeds, a receiver, and an account of the original service in one server. */
export interface World {
  readonly url: string
  readonly callback: string
  readonly listed: ReadonlyArray<ListedSubscription>
  /** Ids of the feeds that were fetched. */
  readonly fetched: ReadonlySet<string>
  /** Entry ids that the receiver got, by topic. */
  readonly received: ReadonlyMap<string, ReadonlyArray<string>>
  /** Adds an entry to each feed. */
  readonly publish: () => void
  /** Runs before a page of the list is sent; a trial stops a service there. */
  onPage: (page: number) => Promise<void>
  readonly close: () => Promise<void>
}

export const openWorld = async (feeds: number): Promise<World> => {
  const fetched = new Set<string>()
  const received = new Map<string, Array<string>>()
  let isPublished = false
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://x")
    const feed = feedPath.exec(pathname)?.[1]
    if (request.method === "POST") return void receive(request, response, received)
    if (feed !== undefined) {
      fetched.add(feed)
      return void response.end(renderFeed(isPublished ? ["new", ...oldEntries] : oldEntries))
    }
    void sendPage(world, Number(searchParams.get("page") ?? 1), Number(searchParams.get("by_page")), response)
  }).listen(0, "0.0.0.0")
  await once(server, "listening")
  const { port } = server.address() as AddressInfo
  const world: World = {
    url: `http://127.0.0.1:${port}/list`,
    callback: `http://127.0.0.1:${port}/hook`,
    listed: Array.from({ length: feeds }, (_, i) => ({
      topic: `http://127.0.1.${1 + i % hosts}:${port}/feed/${i}`,
      folder: `Folder ${i % 7}`
    })),
    fetched,
    received,
    publish: () => void (isPublished = true),
    onPage: async () => {},
    close: async () => {
      server.close()
      server.closeAllConnections()
      await once(server, "close")
    }
  }
  return world
}

const renderFeed = (ids: ReadonlyArray<string>): string =>
  `<rss version="2.0"><channel><title>A feed</title>${
    ids.map((id) => `<item><title>${id}</title><guid isPermaLink="false">${id}</guid></item>`).join("")
  }</channel></rss>`

const receive = async (
  request: IncomingMessage,
  response: ServerResponse,
  received: Map<string, Array<string>>
): Promise<void> => {
  let body = ""
  for await (const chunk of request.setEncoding("utf8")) body += String(chunk)
  const topic = String(request.headers["x-pubsubhubbub-topic"])
  const ids = [...body.matchAll(/<entry[^>]*>.*?<id>(.*?)<\/id>/gs)].map((match) => match[1] ?? "")
  const known = received.get(topic)
  if (known === undefined) received.set(topic, ids)
  else known.push(...ids)
  response.end()
}

const sendPage = async (world: World, page: number, byPage: number, response: ServerResponse): Promise<void> => {
  await world.onPage(page)
  const size = Math.min(byPage, Math.ceil(world.listed.length / minPages))
  const topics = [...world.listed.map(({ topic }) => topic), ...refusedTopics]
  const items = topics.slice((page - 1) * size, page * size).map((url) => ({
    subscription: { format: "atom", endpoint: world.callback, secret: null, feed: { title: "A feed", url } }
  }))
  response.setHeader("content-type", "application/json")
  response.end(JSON.stringify({ subscriptions: items, meta: { total: topics.length, page, by_page: byPage } }))
}

/** Topics that an import refuses. */
export const refusedTopics = [
  "ftp://files.example/feed",
  "http://ann:secret%2Dpassword@127.0.0.1/feed",
  "no URL",
  "http://[::1"
]

/** The feeds as OPML, with the wrong lines in between, in pieces of one line. */
export const renderOpml = (listed: ReadonlyArray<ListedSubscription>): ReadonlyArray<string> => [
  "<?xml version=\"1.0\"?>\n<opml version=\"2.0\"><head/><body>\n",
  ...listed.map(({ folder, topic }) =>
    `<outline text="${folder}"><outline type="rss" text="A feed" xmlUrl="${topic}"/></outline>\n`
  ),
  ...refusedTopics.map((topic) => `<outline text="wrong" xmlUrl="${topic}"/>\n`),
  "</body></opml>\n"
]
