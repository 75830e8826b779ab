import { maxTopicLength } from "#domain/Topic.ts"

/** Where the permanent redirects of a topic lead. */
export interface PermanentRedirect {
  readonly to: string
  /** Epoch ms: since when they have led there, each time. */
  readonly since: number
  /** They have done so for days: the new URL is asked directly. */
  readonly settled?: true
  /** Epoch ms: when the topic itself, asked since, failed last. */
  readonly topicFailedAt?: number
}

/** What a fetch of the topic, or of the URL that it has moved to, says about that. */
export interface RedirectObservation {
  /** The topic, without its fragment. */
  readonly topic: string
  /** The URL that was asked. */
  readonly requestedUrl: string
  /** Where a chain of only permanent redirects led, if there was one. */
  readonly permanentUrl: string | undefined
  readonly outcome: "success" | "failure" | "overload"
  /** Epoch ms. */
  readonly now: number
}

/** A redirect that is called permanent is often a mistake, a network's own page, or a night's maintenance. */
const settleAfterMs = 3 * 24 * 60 * 60_000

/**
 * What is known after a fetch; the same object where nothing is new.
 *
 * A failure of the new URL is the end of it: the topic is asked again, and whatever that answers counts. One of the topic is only noted.
 */
export const nextRedirect = (
  known: PermanentRedirect | undefined,
  witness: RedirectObservation
): PermanentRedirect | undefined => {
  const { requestedUrl, now, outcome, permanentUrl, topic } = witness
  const direct = known?.settled === true && requestedUrl === known.to
  if (outcome !== "success" && known?.settled === true && requestedUrl === topic) {
    return { ...known, topicFailedAt: now }
  }
  if (outcome !== "success") return direct && outcome === "failure" ? undefined : known
  if (direct) return known
  if (permanentUrl === undefined || !mayReplace(topic, permanentUrl)) return undefined
  if (permanentUrl !== known?.to) return { to: permanentUrl, since: now }
  return known.settled === true || now - known.since < settleAfterMs ? known : { ...known, settled: true }
}

/** Not a topic's own URL, and not one without the protection that the topic has. */
const mayReplace = (topic: string, url: string): boolean =>
  url !== topic && url.length <= maxTopicLength && !(topic.startsWith("https:") && url.startsWith("http:"))
