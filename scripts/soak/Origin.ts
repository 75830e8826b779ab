import type { Feed } from "./Feed.ts"
import { listen, oddForms, plain, type RawRequest } from "./RawServer.ts"

/** Publishers of a soak: each answer is a normal one, or odd in a way that publishers are known for. */
export interface Origin {
  readonly urlOf: (feed: Feed) => string
  /** Begins or ends the faults. At first each answer is normal. */
  readonly setFaulty: (faulty: boolean) => void
  /** Answers by the name of their fault. */
  readonly counts: ReadonlyMap<string, number>
  readonly close: () => void
}

/** Hosts that share the feeds, as addresses of 127/8: Windhover is polite by host. */
const hosts = 50

/** Writes one answer of a feed. */
interface Answer {
  readonly write: (bytes: string) => void
  /** Sends a FIN, or a RST. */
  readonly end: () => void
  readonly reset: () => void
}

type Fault = (feed: Feed, request: RawRequest, answer: Answer) => void

export const openOrigin = async (
  feeds: ReadonlyArray<Feed>,
  random: () => number,
  faultShare: number
): Promise<Origin> => {
  const counts = new Map<string, number>()
  const names = Object.keys(faults)
  let faulty = false
  const server = await listen((request, socket) => {
    const feed = feeds[Number(/^\/feed\/(\d+)/.exec(request.path)?.[1])]
    const answer: Answer = {
      write: (bytes) => void socket.write(bytes),
      end: () => void socket.end(),
      reset: () => void socket.resetAndDestroy()
    }
    if (feed === undefined) return answer.write(plain(404, [], ""))
    const name = !faulty || random() >= faultShare ? undefined : names[Math.floor(random() * names.length)]
    counts.set(name ?? "none", (counts.get(name ?? "none") ?? 0) + 1)
    const fault = name === undefined ? undefined : faults[name]
    if (fault === undefined) answer.write(normalAnswer(feed, request))
    else fault(feed, request, answer)
  })
  return {
    urlOf: ({ number }) => `http://127.0.1.${1 + number % hosts}:${server.port}/feed/${number}`,
    setFaulty: (value) => void (faulty = value),
    counts,
    close: server.close
  }
}

const etagOf = ({ ids }: Feed) => `"${ids.length}"`

const fieldsOf = (feed: Feed) => [`Content-Type: ${feed.contentType}`, `ETag: ${etagOf(feed)}`]

const isConditional = ({ headers }: RawRequest) => headers.has("if-none-match")

const normalAnswer = (feed: Feed, { headers }: RawRequest): string =>
  headers.get("if-none-match") === etagOf(feed)
    ? `HTTP/1.1 304 X\r\nETag: ${etagOf(feed)}\r\n\r\n`
    : plain(200, fieldsOf(feed), feed.render())

/** Answers without validators, so that the document of a fault never becomes the known one. */
const document = (feed: Feed, body: string, fields: ReadonlyArray<string> = []) =>
  plain(200, [`Content-Type: ${feed.contentType}`, ...fields], body)

const challenge = "<html><head><meta http-equiv=\"refresh\" content=\"0;/check\"></head><body>One moment</body></html>"

const faults: { readonly [name: string]: Fault } = {
  ...Object.fromEntries(oddForms.map((form, index): [string, Fault] => [
    `odd form ${index + 1}`,
    (feed, _, answer) => {
      answer.write(form([`Content-Type: ${feed.contentType}`], feed.render()))
      answer.end()
    }
  ])),
  "conditional request refused": (feed, request, { write }) =>
    write(isConditional(request) ? plain(403, [], "no") : normalAnswer(feed, request)),
  "unknown Content-Encoding": (feed, _, { write }) => write(document(feed, feed.render(), ["Content-Encoding: utf-8"])),
  "robot check with 202": (_, __, { write }) => write(plain(202, ["Content-Type: text/html"], challenge)),
  "busy": (_, __, { write }) => write(plain(503, ["Retry-After: 2"], "busy")),
  "error": (_, __, { write }) => write(plain(500, [], "error")),
  "not found": (_, __, { write }) => write(plain(404, ["Content-Type: text/html"], "<p>Not found</p>")),
  "reset": (_, __, { reset }) => reset(),
  "breaks off within an entry": (feed, _, { end, write }) => {
    const body = feed.render()
    write(
      `HTTP/1.1 200 OK\r\nContent-Type: ${feed.contentType}\r\nConnection: close\r\n\r\n${
        body.slice(0, Math.floor(body.length * 0.6))
      }`
    )
    end()
  },
  "shorter than its Content-Length": (feed, _, { end, write }) => {
    const whole = document(feed, feed.render())
    write(whole.slice(0, -20))
    end()
  },
  "placeholder": (feed, _, { write }) =>
    write(plain(200, ["Content-Type: application/rss+xml"], feed.renderPlaceholder())),
  "no entries": (feed, _, { write }) => write(document(feed, feed.render({ keep: () => false }))),
  "half of the entries": (feed, _, { write }) =>
    write(document(feed, feed.render({ keep: (index) => index % 2 === 0 }))),
  "stamped with the time of the request": (feed, _, { write }) =>
    write(document(feed, feed.render({ stamp: new Date().toISOString() }))),
  "redirect with a cookie": (feed, request, { write }) => {
    write(
      request.headers.get("cookie")?.includes("seen=1") === true
        ? document(feed, feed.render())
        : plain(302, [`Location: ${request.path}`, "Set-Cookie: seen=1; Path=/"], "")
    )
  },
  "the same Location twice": (feed, request, { write }) =>
    write(
      request.path.endsWith("?moved")
        ? document(feed, feed.render())
        : plain(302, [`Location: ${request.path}?moved`, `Location: ${request.path}?moved`], "")
    )
}
