import { Clock, Effect, Layer, Option, Result } from "effect"
import { withRoom } from "#actors/limits/MemoryRoom.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import { stripControls, toSingleLine } from "#domain/ControlCharacters.ts"
import { isEventsUrl } from "#domain/EventsTopic.ts"
import type { Link, Text } from "#domain/feed/Entry.ts"
import type { RawEntry } from "#domain/feed/EntryId.ts"
import { getLinks, getPermalink } from "#domain/feed/Feed.ts"
import { decodeDocument } from "#domain/normalize/bytes/DecodeDocument.ts"
import { type Fragment, fragmentOf, withoutFragment } from "#domain/poll/Fragment.ts"
import { isSuccess } from "#domain/poll/PollStep.ts"
import { readingBytes } from "#domain/poll/ReadingMemory.ts"
import type { WorkerTurn } from "#domain/poll/WorkerTurn.ts"
import { DocumentMemory } from "#domain/ports/DocumentMemory.ts"
import { FeedReader, type ReadOptions, type ReadResult } from "#domain/ports/FeedReader.ts"
import { type Fetched, Fetcher, type FetchError } from "#domain/ports/Fetcher.ts"
import { Selector } from "#domain/ports/Selector.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { toPlainText } from "#domain/render/PlainText.ts"
import * as Topic from "#domain/Topic.ts"
import { makeAccountLimit } from "./AccountLimit.ts"
import { makeCheckAddress } from "./CheckAddress.ts"
import { type AdvertisedFeed, type EntryGlimpse, type Inspection, Inspector, type InspectRequest } from "./Inspector.ts"

/** Documents of one account. */
const inspectLimit = { burst: 30, perMinute: 30 }

/** Feeds of a page that are fetched. */
const maxFeeds = 5

/** Bytes of a document, and milliseconds of its fetch. */
const maxBytes = 8 * 1024 * 1024
const deadlineMs = 10_000

/** Age of an answer that serves again, in ms: the tester asks for one page several times. */
const maxAgeMs = 10_000

/** Characters of a shown body and of a shown selection. */
const maxBodyLength = 128 * 1024
const maxSelectedLength = 16 * 1024

const maxTitleLength = 300
const maxPathLength = 1_000

export const layer = Layer.effect(
  Inspector,
  Effect.gen(function*() {
    const read = yield* makeRead
    const checkAddress = yield* makeCheckAddress
    const { baseUrl } = yield* Settings
    const describeContent = yield* makeDescribeContent
    const limit = makeAccountLimit("documents are looked at", inspectLimit)
    return Inspector.of({
      inspect: Effect.fn("Inspector.inspect")(
        function*(request: InspectRequest): Effect.fn.Return<Inspection, Refusal> {
          const { canonical } = yield* Effect.fromResult(Topic.parse(request.url, "url"))
          const url = withoutFragment(canonical)
          if (isEventsUrl(url, baseUrl)) {
            return yield* badParameter("url", `${Topic.quote(url)} has the events of your account, and is no document.`)
          }
          const fragment = yield* readFragment(request.path, canonical)
          yield* limit(request.caller)
          yield* checkAddress(url, "url")
          const turn = { key: `inspect ${request.caller.account.id}`, isForStrangers: false }
          const document = yield* Effect.result(read(url, turn))
          return Result.isFailure(document)
            ? unreachable(url, document.failure)
            : yield* describeContent(url, document.success, fragment, turn)
        }
      )
    })
  })
)

/** The path of the request, or else the fragment of the URL. */
const readFragment = (
  path: string | undefined,
  canonical: string
): Effect.Effect<Fragment | undefined, Refusal> => {
  const trimmed = path?.trim() ?? ""
  if (trimmed.length > maxPathLength) {
    return Effect.fail(
      badParameter("path", `path has ${trimmed.length} characters; at most ${maxPathLength} are accepted.`)
    )
  }
  if (trimmed === "") return Effect.succeed(fragmentOf(canonical))
  return Effect.succeed({ language: trimmed.startsWith("$") ? "jsonpath" : "css", path: trimmed })
}

const unreachable = (url: string, { message }: { readonly message: string }): Inspection => ({
  url,
  finalUrl: url,
  code: 0,
  bytes: 0,
  kind: "unreachable",
  problem: toSingleLine(message)
})

interface ReadDocument {
  readonly answer: Fetched
  readonly result: ReadResult
}

/** Fetches and reads a document. Any failure has a sentence as its message. */
const makeRead = Effect.gen(function*() {
  const fetcher = yield* Fetcher
  const reader = yield* FeedReader
  const clock = yield* Clock.Clock
  const { reading } = yield* DocumentMemory
  return Effect.fnUntraced(
    function*(url: string, turn: WorkerTurn): Effect.fn.Return<ReadDocument, FetchError | ReadFailure> {
      const since = clock.currentTimeMillisUnsafe() - maxAgeMs
      const answer = yield* fetcher.fetch({ url, since, shared: true, maxBytes, deadline: deadlineMs })
      const bytes = readingBytes(url, answer.body)
      const read = reader.read(answer.body, readOptionsOf(answer), turn).pipe(
        Effect.mapError(({ message }): ReadFailure => ({ message }))
      )
      const result = yield* Effect.ensuring(
        bytes === 0 ? read : withRoom(reading, { ...turn, bytes }, read),
        Effect.sync(() => answer.returnRoom?.())
      )
      return { answer, result }
    }
  )
})

interface ReadFailure {
  readonly message: string
}

const readOptionsOf = ({ finalUrl, headers }: Fetched): ReadOptions => ({
  url: finalUrl,
  ...(headers["content-type"] !== undefined && { contentType: headers["content-type"] }),
  ...(headers["content-language"] !== undefined && { contentLanguage: headers["content-language"] }),
  ...(headers["content-location"] !== undefined && { contentLocation: headers["content-location"] })
})

const makeDescribeContent = Effect.gen(function*() {
  const glimpseFeeds = yield* makeGlimpseFeeds
  const select = yield* makeSelect
  return Effect.fnUntraced(
    function*(url: string, { answer, result }: ReadDocument, fragment: Fragment | undefined, turn: WorkerTurn) {
      const contentType = answer.headers["content-type"]
      const head = {
        url,
        finalUrl: answer.finalUrl,
        code: answer.status,
        bytes: answer.body.byteLength,
        ...(contentType !== undefined && { contentType: contentType.slice(0, 200) }),
        ...bodyOf(answer)
      }
      const problem = isSuccess(answer.status) ? {} : { problem: `The server answers ${answer.status}.` }
      if (result._tag === "Feed") return { ...head, ...problem, kind: "feed", ...describeFeed(result) } as const
      const { kind, reason } = result
      if (kind === "html") {
        const feeds = yield* glimpseFeeds(result.links ?? [], turn)
        return { ...head, ...problem, kind, feeds, ...(yield* select(answer, kind, fragment, turn)) } as const
      }
      if (kind === "json" || kind === "xml") {
        return { ...head, ...problem, kind, ...(yield* select(answer, kind, fragment, turn)) } as const
      }
      return { ...head, kind, problem: problem.problem ?? sentence(reason) } as const
    }
  )
})

const sentence = (reason: string): string =>
  `${reason.charAt(0).toUpperCase()}${toSingleLine(reason.slice(1))}${/[.!?]$/.test(reason) ? "" : "."}`

/** The beginning of a text; absent for other bytes. */
const bodyOf = ({ body, headers }: Fetched): Pick<Inspection, "body" | "isBodyCut"> => {
  if (body.subarray(0, 1_024).includes(0)) return {}
  const text = decodeDocument(body.subarray(0, maxBodyLength), headers["content-type"])
  return { body: stripControls(text), isBodyCut: body.byteLength > maxBodyLength }
}

const plain = (text: Text): string => toSingleLine(toPlainText(text)).slice(0, maxTitleLength).toWellFormed()

const describeFeed = ({ feed: { entries, header } }: Extract<ReadResult, { readonly _tag: "Feed" }>) => {
  const newest = newestOf(entries)
  return {
    ...(header.title !== undefined && { title: plain(header.title) }),
    entries: entries.length,
    ...(newest !== undefined && { newest })
  }
}

const newestOf = (entries: ReadonlyArray<RawEntry>): EntryGlimpse | undefined => {
  const dateOf = ({ published, updated }: RawEntry) => published ?? updated ?? -Infinity
  const newest = entries.reduce<RawEntry | undefined>(
    (best, entry) => best === undefined || dateOf(entry) > dateOf(best) ? entry : best,
    undefined
  )
  if (newest === undefined) return undefined
  const published = newest.published ?? newest.updated
  const link = getPermalink(newest)
  return {
    title: newest.title === undefined ? "" : plain(newest.title),
    ...(link !== undefined && { link }),
    ...(published !== undefined && { published })
  }
}

/** Fetches the feeds that a page advertises, two at a time. */
const makeGlimpseFeeds = Effect.gen(function*() {
  const read = yield* makeRead
  const checkAddress = yield* makeCheckAddress
  const glimpse = Effect.fnUntraced(function*(url: string, turn: WorkerTurn): Effect.fn.Return<AdvertisedFeed> {
    const document = yield* Effect.result(Effect.andThen(checkAddress(url, "url"), read(url, turn)))
    if (Result.isFailure(document)) return { url, problem: toSingleLine(document.failure.message) }
    const { answer, result } = document.success
    if (result._tag === "Feed") return { url, ...describeFeed(result) }
    const problem = isSuccess(answer.status) ? sentence(result.reason) : `The server answers ${answer.status}.`
    return { url, problem }
  })
  return (links: ReadonlyArray<Link>, turn: WorkerTurn) => {
    const urls = getLinks(links, "alternate").flatMap(({ href }) => {
      const topic = Topic.parse(href)
      return Result.isSuccess(topic) ? [topic.success.canonical] : []
    })
    return Effect.forEach([...new Set(urls)].slice(0, maxFeeds), (url) => glimpse(url, turn), { concurrency: 2 })
  }
})

/** The outline of a page or of JSON, and the part that a path selects. */
const makeSelect = Effect.gen(function*() {
  const selector = yield* Selector
  const { reading } = yield* DocumentMemory
  return Effect.fnUntraced(
    function*(answer: Fetched, syntax: "html" | "xml" | "json", fragment: Fragment | undefined, turn: WorkerTurn) {
      const document = { syntax, bytes: answer.body, contentType: answer.headers["content-type"], turn }
      const bytes = readingBytes(`${answer.finalUrl}#a`, answer.body)
      const outlined = selector.outline({ ...document, ...(fragment !== undefined && { fragment }) })
      const selected = fragment === undefined ? Effect.undefined : selector.select({ ...document, fragment })
      const withPath = Effect.map(Effect.all([outlined, selected]), ([outline, selection]) => ({
        outline,
        ...(selection !== undefined && { selected: describeSelection(selection) })
      }))
      const withoutPath = (problem: { readonly message: string }) =>
        Effect.map(Effect.option(selector.outline(document)), (outline) => ({
          pathProblem: sentence(problem.message),
          ...(Option.isSome(outline) && { outline: outline.value })
        }))
      return yield* withRoom(reading, { ...turn, bytes }, Effect.catch(withPath, withoutPath))
    }
  )
})

const describeSelection = (
  { document, matches }: { readonly document: Document; readonly matches: number }
): NonNullable<Inspection["selected"]> => {
  const text = decodeDocument(document.body.subarray(0, maxSelectedLength), document.contentType)
  return {
    matches,
    contentType: document.contentType,
    text: stripControls(text),
    isCut: document.body.byteLength > maxSelectedLength
  }
}
