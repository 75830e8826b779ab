import type { Document } from "#domain/delivery/Notification.ts"
import type { Link } from "#domain/feed/Entry.ts"
import { compareFingerprints, hashBytes, packFingerprints, unpackFingerprints } from "#domain/Fingerprint.ts"
import type { ReadResult } from "#domain/ports/FeedReader.ts"
import type { Fetched } from "#domain/ports/Fetcher.ts"
import { maxStoredLength } from "#domain/ports/ResourceStore.ts"
import type { Selection } from "#domain/ports/Selector.ts"
import { fragmentOf } from "./Fragment.ts"
import { documentHeader } from "./HubLinks.ts"
import { isLoginWall } from "./LoginWall.ts"
import { failPoll, failStandIn, isRecentlyUnreadable } from "./PollFailure.ts"
import { recordFeed } from "./PollFeed.ts"
import { type PollContext, type PollResult, type PollStep, silentWrite } from "./PollStep.ts"
import { isPage, locationAfter, recordParsed, rememberHeader, requestedUrlOf } from "./PollSuccess.ts"
import type { ResourceKind, ResourceState } from "./Resource.ts"
import { noKills, serverProfileOf } from "./ServerProfile.ts"

/** The next step after reading: the result, or a selection for a topic with a fragment. */
export const recordReading = (
  state: ResourceState,
  answer: Fetched,
  result: ReadResult,
  context: PollContext
): Exclude<PollStep, { _tag: "Read" }> => {
  if (result._tag === "Feed") return recordFeed(state, answer, result, context)
  const standIn = failStandIn(state, answer, context)
  if (standIn !== undefined) return standIn
  const kind = result.kind === "json" ? "json" : "other"
  const fail = (text: string) => failPoll(state, answer.status, `Parser Error ${text}`, context)
  if (result.kind === "empty" || isDoubtful(state, kind, context.now)) {
    return fail(`${result.reason}${describeRedirect(state, answer)}`)
  }
  if (result.kind === "html" && isBehindLoginWall(state, answer, context)) {
    const host = new URL(answer.finalUrl).hostname
    return fail(`another page stands before this one, as for a login (redirected to ${host})`)
  }
  const fragment = fragmentOf(state.url)
  if (fragment === undefined) return recordWholeDocument(state, answer, kind, result.links, context)
  return result.kind === "html" || result.kind === "xml"
    ? { _tag: "Select", fragment, syntax: result.kind, ...(result.links === undefined ? {} : { links: result.links }) }
    : fail(`a CSS path selects in HTML: ${result.reason}`)
}

/**
 * Whether the document is probably an error page with status 200, or the page of a hotel's network. For three days such a page makes no
 * other kind of a feed or of a JSON document.
 */
const isDoubtful = (state: ResourceState, kind: ResourceKind, now: number): boolean =>
  (state.kind === "feed" || state.kind === "json" && kind !== "json") && isRecentlyUnreadable(state, now)

/** Whether a redirect led from a page to a login page, for three days at most. */
const isBehindLoginWall = (state: ResourceState, answer: Fetched, context: PollContext): boolean =>
  state.lastParse !== undefined && isPage(state.kind) && isRecentlyUnreadable(state, context.now) &&
  isLoginWall(requestedUrlOf(state, context), state.serverProfile?.lastLocation, answer)

/** Names another host at the end of the redirects, because a network's login page mostly has another host. */
const describeRedirect = ({ host }: ResourceState, { finalUrl }: Fetched): string => {
  const finalHost = URL.parse(finalUrl)?.hostname ?? host
  return finalHost === host ? "" : ` (redirected to ${finalHost})`
}

const recordWholeDocument = (
  state: ResourceState,
  answer: Fetched,
  kind: ResourceKind,
  links: ReadonlyArray<Link> | undefined,
  context: PollContext
): PollResult => {
  const document = { contentType: answer.headers["content-type"] ?? "application/octet-stream", body: answer.body }
  // A former feed has no previous document.
  const previous = state.kind === "feed" ? undefined : state.signature
  return recordDocument(
    state,
    answer,
    { kind, document, links, verdict: compareFingerprints(previous, answer.signature) },
    context
  )
}

/**
 * The result of a selection.
 *
 * A selection without matches may match later. A selection that matched before and matches nothing now is a failure.
 */
export const recordSelection = (
  state: ResourceState,
  answer: Fetched,
  { document, matches }: Selection,
  { fragment: { language }, links }: Pick<Extract<PollStep, { _tag: "Select" }>, "fragment" | "links">,
  context: PollContext
): PollResult => {
  const kind = language === "css" ? "html-fragment" : "json-fragment"
  const [previous] = state.kind === kind ? unpackFingerprints(state.slices) : []
  const signature = hashBytes(document.body)
  if (matches === 0 && previous !== undefined && previous !== signature) {
    const text = "Parser Error nothing in the document matches the selection any more"
    return failPoll(state, answer.status, text, context)
  }
  const verdict = compareFingerprints(previous, signature)
  const outcome = matches === 0 ? `${arbitraryContent}: nothing in it matches the selection yet` : arbitraryContent
  return recordDocument(
    { ...state, slices: packFingerprints([signature]) },
    answer,
    { kind, document, links, verdict, outcome },
    context
  )
}

/** The outcome of documents other than feeds, in the words of the protocol. Details follow these words. */
const arbitraryContent = "parsed arbitrary content"

interface ReadDocument {
  readonly kind: ResourceKind
  readonly document: Document
  readonly links: ReadonlyArray<Link> | undefined
  readonly verdict: ReturnType<typeof compareFingerprints>
  readonly outcome?: string
}

const recordDocument = (
  state: ResourceState,
  answer: Fetched,
  { document, kind, links, outcome = arbitraryContent, verdict }: ReadDocument,
  context: PollContext
): PollResult => {
  const { length } = document.body
  if (length > maxStoredLength) {
    return failPoll(state, 0, `too large: ${length} bytes; at most ${maxStoredLength} are kept`, context)
  }
  const { header: before, serverProfile, ...others } = state
  const header = context.trigger === "push" ? before : documentHeader(links, answer)
  const isChanged = verdict === "changed"
  const next: ResourceState = {
    ...others,
    ...serverProfileOf({ ...serverProfile, ...noKills, lastLocation: locationAfter(state, kind, answer, context) }),
    ...(header === undefined ? {} : { header: rememberHeader(before, header) }),
    entriesSinceMaintenance: others.entriesSinceMaintenance + (isChanged ? 1 : 0)
  }
  const change = silentWrite(recordParsed(next, answer, kind, isChanged, context, outcome))
  if (verdict === "unchanged") return { _tag: "Changed", change }
  return {
    _tag: "Changed",
    change: { ...change, document, ...(isChanged ? { announce: { _tag: "Document", document } } : {}) }
  }
}
