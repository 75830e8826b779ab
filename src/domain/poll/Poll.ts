import { documentHeader, hasHub, withHeaderLinks, withKnownHubLinks } from "./HubLinks.ts"
import { findNewEntries, needsWholeDocument, type NewEntries } from "#domain/feed/NewEntries.ts"
import type { Entry, Link } from "#domain/feed/Entry.ts"
import { parsePolicy } from "#domain/feed/EntryId.ts"
import { compareFingerprints, ofBytes, packAll, unpackAll } from "#domain/Fingerprint.ts"
import { recordFailure } from "./Health.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import { type Fragment, fragmentOf, withoutFragment } from "./Fragment.ts"
import { httpDate } from "#domain/HttpDate.ts"
import { isMaintenanceDue, maintain } from "./Maintenance.ts"
import { nextRedirect } from "./PermanentRedirect.ts"
import { openAtEnd } from "#domain/normalize/xml/MarkupParser.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import { hintOf, type IntervalBounds, type IntervalInput, nextFetch, nextPeriod } from "./PollingInterval.ts"
import type { Fetched, FetchError, FetchRequest } from "#domain/ports/Fetcher.ts"
import type { ReaderError, ReadOptions, ReadResult } from "#domain/ports/FeedReader.ts"
import { type Announcement, maxStoredLength, type PollWrite } from "#domain/ports/ResourceStore.ts"
import type { Selection, SelectorError, Syntax } from "#domain/ports/Selector.ts"
import type { ResourceKind, ResourceState, ServerProfile } from "./Resource.ts"
import { describeFetch, isSameFailure, type PollTrigger } from "./Status.ts"
import { nextValidators, type Validators } from "./Validators.ts"
import { isLoginWall, locationOf } from "./LoginWall.ts"

/** What a poll knows besides the resource and the answer. */
export interface PollContext extends IntervalBounds {
  /** Epoch ms. */
  readonly now: number
  readonly trigger: PollTrigger
  /** The URL that was asked, when it may not be the topic. */
  readonly requestedUrl?: string
  /** 0 up to 1, see `Polling.nextFetch`. */
  readonly jitter: number
  /** See `Change.Options`. */
  readonly followMovedIds?: boolean
}

/**
 * What a poll comes to: a step that only moves the schedule, or a change to record.
 *
 *   answer ─┬─ 304, same bytes ────────────► Quiet
 *           ├─ 2xx, other bytes ─► Read it ─┬────────────────► Changed (news, or only a new signature)
 *           │                               └─► Select in it ─► Changed (likewise)
 *           └─ anything else ──────────────► Changed when that becomes its error state, else Quiet
 */
export type PollStep =
  | { readonly _tag: "Quiet"; readonly state: ResourceState }
  | { readonly _tag: "Changed"; readonly change: PollWrite }
  | { readonly _tag: "Read"; readonly options: ReadOptions }
  | {
    readonly _tag: "Select"
    readonly fragment: Fragment
    readonly syntax: Syntax
    /** What a page says of itself beside what is selected in it. */
    readonly links?: ReadonlyArray<Link>
  }

/** A step that is decided. */
export type PollResult = Exclude<PollStep, { _tag: "Read" | "Select" }>

const DAY = 24 * 60 * 60_000

/**
 * The conditional GET for a resource.
 *
 * Once a day it is without conditions, so that a lying validator hides nothing for longer, and of the topic itself, wherever that has moved.
 * When the topic fails then, that fetch is made where it has moved to: a new place outlives the old one.
 * An answer will do that another resource was given since this one was due, or since the last ping (`pinged`, epoch ms).
 */
export const request = (state: ResourceState, now: number, pinged?: number): FetchRequest => {
  const { validatorTrust, permanentRedirect } = state.serverProfile ?? {}
  const whole = state.signature === undefined || state.inError || isUnproven(state, now)
  const bare = whole || validatorTrust === "trial"
  const url = permanentRedirect?.settled === true && (!whole || hasTopicFailed(state))
    ? permanentRedirect.to
    : withoutFragment(state.url)
  return {
    url,
    since: pinged ?? Math.min(state.nextFetch, now),
    ...(url === state.url ? {} : { shared: true }),
    ...(bare || state.etag === undefined ? {} : { etag: state.etag }),
    ...(bare || state.lastModified === undefined ? {} : { lastModified: state.lastModified })
  }
}

/** For a day nothing but the server's word has said what is there. */
const isUnproven = ({ lastUnconditionalFetch }: ResourceState, now: number): boolean =>
  now - (lastUnconditionalFetch ?? 0) >= DAY

/** Whether the fetch of the day has found nothing at the topic itself, and is still to be made. */
const hasTopicFailed = ({ lastUnconditionalFetch, serverProfile }: ResourceState): boolean =>
  (serverProfile?.permanentRedirect?.topicFailedAt ?? 0) > (lastUnconditionalFetch ?? 0)

/** Whether an answer is the fetch of the day: else one who holds the new place of a topic could keep it from its owner for ever. */
const isOfDay = (state: ResourceState, at: PollContext): boolean =>
  at.trigger !== "push" &&
  (at.requestedUrl === undefined || at.requestedUrl === withoutFragment(state.url) || hasTopicFailed(state))

/** The first look at an answer: most polls end here. */
export const answered = (state: ResourceState, answer: Fetched, at: PollContext): PollStep => {
  const { status } = answer
  if (status === 304 && state.signature === undefined) return failure(state, 304, unasked, at)
  if (status === 304 || isSuccess(status) && isSame(state, answer, at)) return unchanged(state, answer, at)
  if (!isSuccess(status)) return failure(state, status, refusal(answer), at, retryAfter(answer, at.now))
  const fragment = fragmentOf(state.url)
  return fragment?.language === "jsonpath"
    ? { _tag: "Select", fragment, syntax: "json" }
    : { _tag: "Read", options: readOptions(state, answer, at) }
}

/** Nothing is known that could be as it was: a broken cache, mostly. */
const unasked =
  "the server says that nothing has changed, although it was not asked for changes and has sent nothing before"

/**
 * Of bytes that a stranger may have pushed nobody has read yet what hubs they come with. Once a day that is read of the bytes that are known,
 * too: they may have come with the hub of somebody who held the server for an hour, and Link headers are no part of them.
 */
const isSame = (state: ResourceState, answer: Fetched, at: PollContext): boolean => {
  const { header, inError, serverProfile, signature } = state
  if (answer.signature !== signature || inError) return false
  if (at.trigger === "push") return true
  return serverProfile?.statusBeforePush === undefined &&
    !(isOfDay(state, at) && isUnproven(state, at.now) && hasHub(header, answer))
}

/** What a status alone does not say: a page that only a browser gets past, which no waiting mends. */
const refusal = ({ headers, status }: Fetched): string | undefined =>
  headers["cf-mitigated"] === "challenge"
    ? `the publisher's Cloudflare asks for a browser (${status}); only the publisher can let other clients in`
    : undefined

const isSuccess = (status: number): boolean => status >= 200 && status < 300

const readOptions = (state: ResourceState, answer: Fetched, at: PollContext): ReadOptions => ({
  ...(answer.headers["content-type"] === undefined ? {} : { contentType: answer.headers["content-type"] }),
  ...(answer.headers["content-language"] === undefined ? {} : { contentLanguage: answer.headers["content-language"] }),
  url: answer.finalUrl,
  // a document that was pushed may hold only what is new, beside nothing that was read before
  ...(state.slices.length === 0 || at.trigger === "push" ? {} : { seenSlices: unpackAll(state.slices) })
})

/**
 * The row is only rewritten when a validator moved, and once a day for the document that was compared whole: else a resource that rested
 * would not know of it. This is where most polls end: it copies the state once.
 */
const unchanged = (state: ResourceState, answer: Fetched, at: PollContext): PollResult => {
  const recovered = state.failures > 0
  const on = scheduled(state, answer, "unchanged", at)
  const moved = recovered ? { ...calm(on), http: describeFetch(at.trigger, answer.status, on.period) } : on
  if (at.trigger === "push") {
    const pushed = state.code === 304 ? { ...moved, code: 304 } : moved
    return recovered ? { _tag: "Changed", change: silent(pushed) } : { _tag: "Quiet", state: pushed }
  }
  const whole = answer.status !== 304 && isOfDay(state, at) && isUnproven(state, at.now)
  const next = whole ? { ...moved, lastUnconditionalFetch: at.now } : moved
  const held = nextValidators(heldBy(state), answer, { changed: false, afterNotModified: false, now: at.now })
  const settled = held.etag === state.etag && held.lastModified === state.lastModified &&
    held.trust === state.serverProfile?.validatorTrust && held.caughtLyingAt === state.serverProfile?.caughtLyingAt &&
    !whole
  const place = placeAfter(state, state.kind, answer, at)
  if (settled && !recovered && place === state.serverProfile?.lastLocation) return { _tag: "Quiet", state: next }
  return { _tag: "Changed", change: silent(withValidators(next, held, { lastLocation: place })) }
}

/** Without what a failure has left behind. */
const calm = ({ serverProfile, ...state }: ResourceState): ResourceState => ({
  ...state,
  failures: 0,
  ...learning({ ...serverProfile, unreadableSince: undefined })
})

/** No answer came. */
export const unanswered = (state: ResourceState, error: FetchError, at: PollContext): PollResult =>
  failure(state, 0, error.message, at)

/** It was never fetched, and its host is left alone until then (epoch ms). */
export const heldBack = (state: ResourceState, until: number): PollWrite =>
  silent({
    ...state,
    nextFetch: until,
    http: `Not fetched yet: ${state.host} asked to be left alone until ${new Date(until).toISOString()}`
  })

const failure = (
  state: ResourceState,
  code: number,
  text: string | undefined,
  at: PollContext,
  notBefore?: number
): PollResult => {
  const { announced, health, slipped } = recordFailure(state, state.lastParse !== undefined)
  const answers = isSuccess(code)
  const period = slipped ? state.period : periodAfter(state, answers ? "unreadable" : "failed", at, 0)
  const again = slipped ? Math.min(period, at.minPeriod) : period
  const timed = {
    ...state,
    code,
    period,
    lastFetch: at.now,
    nextFetch: nextFetch(at.now, again, at.jitter, notBefore)
  }
  const log = describeFetch(at.trigger, code, timed.period)
  const next: ResourceState = {
    ...timed,
    ...health,
    ...(answers ? doubted(state.serverProfile, at.now) : {}),
    http: text === undefined ? log : `${log}: ${text}`
  }
  if (announced) return { _tag: "Changed", change: { ...silent(next), announce: { _tag: "Failure" } } }
  // the same again is no news for the row either
  return state.code === code && isSameFailure(state.http, text)
    ? { _tag: "Quiet", state: next }
    : { _tag: "Changed", change: silent(next) }
}

/** Whether a document that was read in part has to be read whole after all. */
export const wantsWhole = (state: ResourceState, result: ReadResult): boolean =>
  result._tag === "Feed" && result.skipped > 0 && (
    state.serverProfile?.truncatedAt !== undefined ||
    needsWholeDocument(memoryOf(state), { entries: result.feed.entries, skipped: result.skipped })
  )

const memoryOf = (state: ResourceState) => ({
  seen: state.seen,
  idPolicy: parsePolicy(state.idPolicy),
  bozoRank: state.bozoRank ?? 0
})

/** The document could not be read in time. */
export const unreadable = (state: ResourceState, answer: Fetched, error: ReaderError, at: PollContext): PollResult =>
  failure(state, answer.status, `Parser Error ${error.message}`, at)

/** What a document that was read changes; in one with a fragment something has to be selected first. */
export const read = (
  state: ResourceState,
  answer: Fetched,
  result: ReadResult,
  at: PollContext
): Exclude<PollStep, { _tag: "Read" }> => {
  if (result._tag === "Feed") return feedRead(state, answer, result, at)
  const kind = result.kind === "json" ? "json" : "other"
  if (result.kind === "empty" || isDoubtful(state, kind, at.now)) {
    return failure(state, answer.status, `Parser Error ${result.reason}${elsewhere(state, answer)}`, at)
  }
  if (result.kind === "html" && isBehindWall(state, answer, at)) {
    const where = new URL(answer.finalUrl).hostname
    return failure(
      state,
      answer.status,
      `Parser Error another page stands before this one, as for a login (redirected to ${where})`,
      at
    )
  }
  const fragment = fragmentOf(state.url)
  if (fragment === undefined) return documentRead(state, answer, kind, result.links, at)
  return result.kind === "html" || result.kind === "xml"
    ? { _tag: "Select", fragment, syntax: result.kind, ...(result.links === undefined ? {} : { links: result.links }) }
    : failure(state, answer.status, `Parser Error a CSS path selects in HTML: ${result.reason}`, at)
}

/** Milliseconds of answers that cannot be read, until a feed that is none any more is taken for what it is now. */
const patience = 3 * DAY

const isPatient = ({ serverProfile }: ResourceState, now: number): boolean =>
  now - (serverProfile?.unreadableSince ?? now) < patience

const doubted = (learned: ServerProfile | undefined, now: number): Pick<ResourceState, "serverProfile"> => ({
  serverProfile: { ...learned, unreadableSince: learned?.unreadableSince ?? now }
})

/** An error page with a good status, or the page of a hotel's network, makes no other kind of a feed or of a JSON document. */
const isDoubtful = (state: ResourceState, kind: ResourceKind, now: number): boolean =>
  (state.kind === "feed" || state.kind === "json" && kind !== "json") && isPatient(state, now)

/** Likewise of a page, where a redirect tells; see `isWall`. */
const isBehindWall = (state: ResourceState, answer: Fetched, at: PollContext): boolean =>
  state.lastParse !== undefined && isOfPage(state.kind) && isPatient(state, at.now) &&
  isLoginWall(askedFor(state, at), state.serverProfile?.lastLocation, answer)

const isOfPage = (kind: ResourceKind): boolean => kind === "other" || kind === "html-fragment"

const askedFor = ({ url }: ResourceState, at: PollContext): string => at.requestedUrl ?? withoutFragment(url)

/** What is pushed has come from no place. */
const placeAfter = (state: ResourceState, kind: ResourceKind, answer: Fetched, at: PollContext) =>
  at.trigger === "push"
    ? state.serverProfile?.lastLocation
    : isOfPage(kind)
    ? locationOf(askedFor(state, at), answer.finalUrl)
    : undefined

/** The page of a network that wants a login is mostly one of another host. */
const elsewhere = ({ host }: ResourceState, { finalUrl }: Fetched): string => {
  const there = URL.parse(finalUrl)?.hostname ?? host
  return there === host ? "" : ` (redirected to ${there})`
}

const feedRead = (
  state: ResourceState,
  answer: Fetched,
  { feed, skipped, slices }: Extract<ReadResult, { _tag: "Feed" }>,
  at: PollContext
): PollResult => {
  const pushed = at.trigger === "push"
  const breaksOff = feed.repairs.includes(openAtEnd)
  const brokenOff = state.serverProfile?.truncatedAt
  const decision = findNewEntries(memoryOf(state), { entries: feed.entries, skipped }, at.now, {
    ...at,
    partial: pushed,
    ...(brokenOff !== undefined && { truncatedAt: brokenOff, isTruncated: breaksOff })
  })
  const tooLong = longest(answer, [...decision.fresh, ...decision.updated])
  if (tooLong !== undefined) {
    return failure(state, 0, `too large: an entry of ${tooLong} bytes; at most ${maxStoredLength} are kept`, at)
  }
  const fresh = decision.fresh.length + decision.updated.length
  const { serverProfile, ...base } = parsed(state, answer, "feed", fresh > 0, at, decision.outcome)
  const isFirst = state.seen.length === 0
  const next: ResourceState = {
    ...base,
    ...learning({
      ...serverProfile,
      truncatedAt: pushed || breaksOff && !isFirst ? brokenOff : breaksOff ? at.now : undefined
    }),
    header: kept(
      state.header,
      pushed ? withKnownHubLinks(state.header, feed.header) : withHeaderLinks(feed.header, answer)
    ),
    seen: decision.memory.seen,
    slices: pushed ? state.slices : slices === undefined ? new Uint8Array() : packAll(slices),
    idPolicy: decision.memory.idPolicy,
    bozoRank: decision.memory.bozoRank,
    generatedIds: decision.generatedIds || skipped > 0 && state.generatedIds,
    entriesSinceMaintenance: state.entriesSinceMaintenance + fresh
  }
  return {
    _tag: "Changed",
    change: {
      state: next,
      entries: decision.fresh,
      updated: decision.updated,
      announce: news(decision),
      ...wholeOf(state, answer)
    }
  }
}

/**
 * What is remembered of a header: the one from before where it says the same, else a copy by way of JSON, as it is stored.
 *
 * A text that was cut out of a document keeps the whole document in memory, for as long as the resource is.
 */
const kept = (before: FeedHeader | undefined, header: FeedHeader): FeedHeader => {
  const text = JSON.stringify(header)
  return before !== undefined && text === JSON.stringify(before) ? before : JSON.parse(text) as FeedHeader // its own text
}

/** The feed itself, where subscriptions of the hub face want it. One that cannot be kept is not sent to them. */
const wholeOf = ({ hasHubSubscribers }: ResourceState, answer: Fetched): { readonly whole?: Document } =>
  hasHubSubscribers === undefined || answer.body.length > maxStoredLength
    ? {}
    : { whole: { contentType: answer.headers["content-type"] ?? "application/xml", body: answer.body } }

/** JSON escapes and resolved URLs make an entry longer than it stood in the document, but not by such a factor. */
const mostGrowth = 16

/** Bytes of the entry that is too long to be stored, if there is one; entries of an ordinary document need not be measured. */
const longest = (answer: Fetched, entries: ReadonlyArray<Entry>): number | undefined => {
  if (answer.body.length * mostGrowth <= maxStoredLength) return undefined
  const encoder = new TextEncoder()
  return entries.map((entry) => encoder.encode(JSON.stringify(entry)).length).find((length) => length > maxStoredLength)
}

const news = ({ notified }: NewEntries): Announcement | undefined =>
  notified.length === 0 ? undefined : { _tag: "Entries", ids: notified.map(({ id }) => id).toReversed() }

const documentRead = (
  state: ResourceState,
  answer: Fetched,
  kind: ResourceKind,
  links: ReadonlyArray<Link> | undefined,
  at: PollContext
): PollResult => {
  const document = { contentType: answer.headers["content-type"] ?? "application/octet-stream", body: answer.body }
  const previous = state.kind === "feed" ? undefined : state.signature // a feed that turned into something else is new as such
  return recorded(
    state,
    answer,
    { kind, document, links, verdict: compareFingerprints(previous, answer.signature) },
    at
  )
}

/** What a selection changes. Without matches it may be a selection for later; one that had some has lost what it was made for. */
export const selected = (
  state: ResourceState,
  answer: Fetched,
  { document, matches }: Selection,
  { fragment: { language }, links }: Pick<Extract<PollStep, { _tag: "Select" }>, "fragment" | "links">,
  at: PollContext
): PollResult => {
  const kind = language === "css" ? "html-fragment" : "json-fragment"
  const [previous] = state.kind === kind ? unpackAll(state.slices) : []
  const signature = ofBytes(document.body)
  if (matches === 0 && previous !== undefined && previous !== signature) {
    return failure(state, answer.status, "Parser Error nothing in the document matches the selection any more", at)
  }
  const verdict = compareFingerprints(previous, signature)
  const outcome = matches === 0 ? `${arbitrary}: nothing in it matches the selection yet` : arbitrary
  return recorded({ ...state, slices: packAll([signature]) }, answer, { kind, document, links, verdict, outcome }, at)
}

/** Nothing could be selected. */
export const unselectable = (
  state: ResourceState,
  answer: Fetched,
  error: SelectorError,
  at: PollContext
): PollResult => failure(state, answer.status, `Parser Error ${error.message}`, at)

/** The outcome of a document that is no feed, as the protocol has it; what else there is to say follows it. */
const arbitrary = "parsed arbitrary content"

const recorded = (
  state: ResourceState,
  answer: Fetched,
  { document, kind, links, outcome = arbitrary, verdict }: {
    readonly kind: ResourceKind
    readonly document: Document
    readonly links: ReadonlyArray<Link> | undefined
    readonly verdict: ReturnType<typeof compareFingerprints>
    readonly outcome?: string
  },
  at: PollContext
): PollResult => {
  if (document.body.length > maxStoredLength) {
    return failure(state, 0, `too large: ${document.body.length} bytes; at most ${maxStoredLength} are kept`, at)
  }
  const { header: before, ...known } = state
  const header = at.trigger === "push" ? before : documentHeader(links, answer)
  const { serverProfile, ...others } = known
  const placed = { ...others, ...learning({ ...serverProfile, lastLocation: placeAfter(state, kind, answer, at) }) }
  const named = header === undefined ? placed : { ...placed, header: kept(before, header) }
  const changed = verdict === "changed"
  const counted = changed ? { ...named, entriesSinceMaintenance: named.entriesSinceMaintenance + 1 } : named
  const change = silent(parsed(counted, answer, kind, changed, at, outcome))
  if (verdict === "unchanged") return { _tag: "Changed", change }
  return {
    _tag: "Changed",
    change: { ...change, document, ...(changed ? { announce: { _tag: "Document", document } } : {}) }
  }
}

/** The state after a document that was read with success. */
const parsed = (
  state: ResourceState,
  answer: Fetched,
  kind: ResourceKind,
  changed: boolean,
  at: PollContext,
  outcome: string
): ResourceState => {
  const next = scheduled({ ...state, kind }, answer, changed ? "changed" : "unchanged", at)
  const held = heldBy(state)
  const found = {
    changed: changed && !(isByBytes(kind) && isWeak(held)),
    afterNotModified: lastAnswer(state) === 304 && isUnproven(state, at.now),
    now: at.now
  }
  const pushed = at.trigger === "push"
  const validators = pushed ? held : nextValidators(held, answer, found)
  const lessons = { unreadableSince: undefined, statusBeforePush: pushed ? lastAnswer(state) : undefined }
  return {
    ...withValidators(next, validators, lessons),
    failures: 0,
    inError: false,
    http: describeFetch(at.trigger, answer.status, next.period, outcome),
    lastParse: at.now,
    ...(isOfDay(state, at) ? { lastUnconditionalFetch: at.now } : {}),
    signature: answer.signature
  }
}

/** The status of the last answer of the server; a push is none. */
const lastAnswer = ({ code, serverProfile }: ResourceState): number | undefined =>
  code === 200 ? serverProfile?.statusBeforePush ?? code : code

const scheduled = (
  state: ResourceState,
  answer: Fetched,
  outcome: "changed" | "unchanged",
  at: PollContext
): ResourceState => {
  const period = periodAfter(state, outcome, at, hintOf(answer.headers, state.header?.hints, at.now))
  const next = nextFetch(at.now, period, at.jitter, retryAfter(answer, at.now))
  return {
    ...state,
    code: answer.status,
    period,
    lastFetch: at.now,
    // what is pushed again and again must not put off the poll that finds what was not
    nextFetch: at.trigger === "push" ? Math.min(next, Math.max(state.nextFetch, at.now)) : next
  }
}

const periodAfter = (
  { kind, lastFetch, period, subscribers, velocity }: ResourceState,
  outcome: IntervalInput["outcome"],
  at: PollContext,
  hint: number
): number =>
  nextPeriod({ kind, period: lastFetch === undefined ? undefined : period, outcome, velocity, subscribers, hint }, at)

/** A page may be other bytes at each request, by a token or a time in it. */
const isByBytes = (kind: ResourceKind): boolean => kind === "json" || kind === "other"

/** The server says that documents with this tag mean the same, not that they are the same (RFC 9110, 8.8.1). */
const isWeak = ({ etag }: Validators): boolean => etag?.startsWith("W/") ?? false

const heldBy = ({ etag, lastModified, serverProfile }: ResourceState): Validators => ({
  etag,
  lastModified,
  trust: serverProfile?.validatorTrust,
  caughtLyingAt: serverProfile?.caughtLyingAt
})

const withValidators = (
  { etag: _, lastModified: __, serverProfile, ...state }: ResourceState,
  { caughtLyingAt, trust, etag, lastModified }: Validators,
  lessons: Lessons
): ResourceState => ({
  ...state,
  ...(etag === undefined ? {} : { etag }),
  ...(lastModified === undefined ? {} : { lastModified }),
  ...learning({ ...serverProfile, validatorTrust: trust, caughtLyingAt: caughtLyingAt, ...lessons })
})

/** What is learned, undefined where it is forgotten. */
type Lessons = { readonly [K in keyof ServerProfile]: ServerProfile[K] | undefined }

/** Nothing is kept where nothing was learned. */
const learning = (lessons: Lessons): Pick<ResourceState, "serverProfile"> => {
  const learned: { -readonly [K in keyof ServerProfile]: ServerProfile[K] } = {}
  const {
    truncatedAt,
    caughtLyingAt,
    validatorTrust,
    unreadableSince,
    permanentRedirect,
    lastLocation,
    statusBeforePush
  } = lessons
  if (validatorTrust !== undefined) learned.validatorTrust = validatorTrust
  if (caughtLyingAt !== undefined) learned.caughtLyingAt = caughtLyingAt
  if (unreadableSince !== undefined) learned.unreadableSince = unreadableSince
  if (permanentRedirect !== undefined) learned.permanentRedirect = permanentRedirect
  if (truncatedAt !== undefined) learned.truncatedAt = truncatedAt
  if (lastLocation !== undefined) learned.lastLocation = lastLocation
  if (statusBeforePush !== undefined) learned.statusBeforePush = statusBeforePush
  return Object.keys(learned).length === 0 ? {} : { serverProfile: learned }
}

/** When to come again, epoch ms: `Retry-After` in seconds or as a date; else the end of a limit that is used up. A day at most. */
const retryAfter = ({ headers }: Fetched, now: number): number | undefined => {
  const at = timeOf(headers["retry-after"], now) ??
    (isSpent(headers) ? timeOf(headers["x-ratelimit-reset"] ?? headers["ratelimit-reset"], now) : undefined)
  return at === undefined ? undefined : Math.min(at, now + DAY)
}

/** Seconds from now (or, where there are so many, since 1970), or a date. Some servers divide seconds: the part of one is waited for as a whole. */
const timeOf = (value: string | undefined, now: number): number | undefined => {
  const text = value?.trim() ?? ""
  if (!/^\d+(?:\.\d+)?$/.test(text)) return httpDate(text)
  const seconds = Math.ceil(Number(text))
  return seconds > 1e9 ? seconds * 1000 : now + seconds * 1000
}

/** A server that is overloaded and does not say for how long. Milliseconds. */
const overload = 60_000

/** Nobody is kept from a host for longer by one answer of it. Milliseconds. */
const longestHoldOff = 60 * 60_000

/**
 * Until when (epoch ms) the whole host is left alone, if the answer asks for it.
 *
 * A 429 means the client, whatever it asked for, and so does a 403 that names a limit. A 503 may mean one document only, unless it says when
 * to come again.
 */
export const holdOff = (answer: Fetched, now: number): number | undefined => {
  if (!isOverloaded(answer)) return undefined
  const until = retryAfter(answer, now) ?? (answer.status === 503 ? undefined : now + overload)
  return until === undefined ? undefined : Math.min(until, now + longestHoldOff)
}

const isOverloaded = ({ headers, status }: Fetched): boolean =>
  status === 429 || status === 503 || status === 403 && (headers["retry-after"] !== undefined || isSpent(headers))

/** GitHub and others answer 403 when a limit is used up, and say so in fields of their own. */
const isSpent = (headers: Fetched["headers"]): boolean =>
  (headers["x-ratelimit-remaining"] ?? headers["ratelimit-remaining"])?.trim() === "0"

/** The step, and with it what the answer (undefined: there was none) says of where the topic has moved; nearly always that is nothing. */
export const withMoved = (step: PollResult, answer: Fetched | undefined, at: PollContext): PollResult => {
  const state = stateAfter(step)
  const { failures, serverProfile, url } = state
  if (serverProfile?.permanentRedirect === undefined && answer?.permanentUrl === undefined) return step
  const topic = withoutFragment(url)
  const moved = nextRedirect(serverProfile?.permanentRedirect, {
    topic,
    requestedUrl: at.requestedUrl ?? topic,
    permanentUrl: answer?.permanentUrl,
    outcome: failures === 0 ? "success" : answer !== undefined && isOverloaded(answer) ? "overload" : "failure",
    now: at.now
  })
  if (moved === serverProfile?.permanentRedirect) return step
  const { serverProfile: _, ...others } = state
  return withState(step, { ...others, ...learning({ ...serverProfile, permanentRedirect: moved }) })
}

/** The step, and with it the maintenance of the resource where that is due: once a day a row is written that nothing else asks for. */
export const withMaintenance = (step: PollResult, now: number, pornRank?: number): PollResult => {
  const state = stateAfter(step)
  return isMaintenanceDue(state, now) ? withState(step, maintain(state, now, pornRank)) : step
}

export const isStepMaintenanceDue = (step: PollResult, now: number): boolean => isMaintenanceDue(stateAfter(step), now)

/** The entries that a step brings, newest first. */
export const broughtBy = (step: PollResult): ReadonlyArray<Entry> =>
  step._tag === "Quiet" ? [] : step.change.entries.toReversed()

/** Whether a step holds the bytes of the answer that it was made of. */
export const keepsBody = (step: PollResult): boolean =>
  step._tag === "Changed" &&
  (step.change.whole !== undefined || step.change.document !== undefined || step.change.announce?._tag === "Document")

/** How many entries a step brings, new and updated. */
export const countOf = (step: PollResult): number =>
  step._tag === "Quiet" ? 0 : step.change.entries.length + step.change.updated.length

export const stateAfter = (step: PollResult): ResourceState => step._tag === "Quiet" ? step.state : step.change.state

/** The step with another state, which is recorded. */
const withState = (step: PollResult, state: ResourceState): PollResult => ({
  _tag: "Changed",
  change: step._tag === "Quiet" ? silent(state) : { ...step.change, state }
})

const silent = (state: ResourceState): PollWrite => ({ state, entries: [], updated: [], announce: undefined })
