import { maxTopicLength } from "#domain/Topic.ts"
import { dayMs } from "#domain/Time.ts"

/** The target of the permanent redirects of a topic. */
export interface PermanentRedirect {
  readonly to: string
  /** Epoch ms of the first redirect to this target without a different one since. */
  readonly since: number
  /** Set after three days. Fetches then go to the target directly. */
  readonly settled?: true
  /** Epoch ms of the last failure of the topic itself. */
  readonly topicFailedAt?: number
}

/** One fetch of the topic or of its target, as evidence about the redirect. */
export interface RedirectObservation {
  /** The topic, without its fragment. */
  readonly topic: string
  /** The requested URL. */
  readonly requestedUrl: string
  /** End of a chain of permanent redirects only, if there was one. */
  readonly permanentUrl: string | undefined
  readonly outcome: "success" | "failure" | "overload"
  /** Epoch ms. */
  readonly now: number
}

/** Time until a redirect settles, in ms. A permanent redirect is often a mistake, a network's page, or a night's maintenance. */
const settleAfterMs = 3 * dayMs

/**
 * The redirect after a fetch; the same object without a change.
 *
 * A failure of the target ends the redirect, and the topic is fetched again. A failure of the topic is only noted.
 */
export const nextRedirect = (
  known: PermanentRedirect | undefined,
  observation: RedirectObservation
): PermanentRedirect | undefined => {
  const { requestedUrl, now, outcome, permanentUrl, topic } = observation
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

/** Whether the target differs from the topic and keeps its https. */
const mayReplace = (topic: string, url: string): boolean =>
  url !== topic && url.length <= maxTopicLength && !(topic.startsWith("https:") && url.startsWith("http:"))
