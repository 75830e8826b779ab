import type { Feed } from "./Feed.ts"
import { placeholder } from "./Feed.ts"
import { listen, oddForms, plain, type RawRequest } from "./RawServer.ts"

/** A notification that a receiver has answered with 200. */
export interface Accepted {
  readonly at: number
  readonly notification: string
  readonly sequence: number
  readonly ids: ReadonlyArray<string>
}

/** Receivers of a soak: each answer is a normal one, or odd in a way that receivers are known for. */
export interface Receivers {
  readonly urlOf: (feed: Feed, subscription: number) => string
  /** Accepted notifications by `FEED/SUBSCRIPTION`, in the order of their answers. */
  readonly accepted: ReadonlyMap<string, ReadonlyArray<Accepted>>
  /** Begins or ends the faults. At first each answer is normal. */
  readonly setFaulty: (faulty: boolean) => void
  readonly counts: ReadonlyMap<string, number>
  readonly close: () => void
}

const hosts = 50

/** Failed answers to one notification, at most: Windhover gives up after four. */
const maxFailures = 2

/** Entries above which the receiver answers 413. */
const maxEntries = 3

export const openReceivers = async (random: () => number, faultShare: number): Promise<Receivers> => {
  const accepted = new Map<string, Array<Accepted>>()
  const failures = new Map<string, number>()
  const counts = new Map<string, number>()
  let faulty = false

  const count = (name: string) => void counts.set(name, (counts.get(name) ?? 0) + 1)

  const accept = (key: string, request: RawRequest) => {
    const list = accepted.get(key) ?? []
    accepted.set(key, list)
    list.push({
      at: Date.now(),
      notification: request.headers.get("x-windhover-notification-id") ?? "",
      sequence: Number(request.headers.get("x-windhover-sequence")),
      ids: idsOf(request.body.toString())
    })
  }

  /** True when this answer may fail, and counts it. */
  const mayFail = (key: string, request: RawRequest): boolean => {
    const name = `${key} ${request.headers.get("x-windhover-notification-id")}`
    const failed = failures.get(name) ?? 0
    if (failed >= maxFailures) return false
    failures.set(name, failed + 1)
    return true
  }

  const server = await listen((request, socket) => {
    const key = request.path.replace("/hook/", "")
    const pick = !faulty || random() >= faultShare
      ? undefined
      : Math.floor(random() * (oddForms.length + failing.length))
    const form = pick === undefined ? undefined : oddForms[pick]
    const failure = pick === undefined ? undefined : failing[pick - oddForms.length]
    if (faulty && idsOf(request.body.toString()).length > maxEntries) {
      count("413")
      socket.write(plain(413, [], "too large"))
    } else if (failure !== undefined && mayFail(key, request)) {
      count(failure.name)
      if (failure.answer === undefined) socket.resetAndDestroy()
      else socket.write(failure.answer)
    } else if (form !== undefined) {
      count("odd form")
      accept(key, request)
      socket.write(form([], "ok"))
      socket.end()
    } else {
      count("none")
      accept(key, request)
      socket.write(plain(200, [], ""))
    }
  })
  return {
    urlOf: ({ number }, subscription) =>
      `http://127.0.2.${1 + number % hosts}:${server.port}/hook/${number}/${subscription}`,
    accepted,
    setFaulty: (value) => void (faulty = value),
    counts,
    close: server.close
  }
}

const failing: ReadonlyArray<{ readonly name: string; readonly answer?: string }> = [
  { name: "busy", answer: plain(503, ["Retry-After: 1"], "busy") },
  { name: "too many requests", answer: plain(429, ["Retry-After: 2"], "slower") },
  { name: "error", answer: plain(500, [], "error") },
  { name: "reset" }
]

/** Ids of the entries of a notification in Atom or JSON. */
const idsOf = (body: string): ReadonlyArray<string> => {
  const ids = new Set(Array.from(body.matchAll(/urn:feed:\d+:\d+/g), ([id]) => id))
  return body.includes(placeholder) ? [...ids, placeholder] : [...ids]
}
