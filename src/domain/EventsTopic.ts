import { isOwn, pathOf } from "./OwnAddress.ts"
import type { Topic } from "./Topic.ts"

/**
 * The topic of events, `{base}/events`, which stands for another resource in each account.
 *
 * The canonical topic of such a resource has a scheme that no subscriber can name, so that no account reads the events of another one, and no
 * fetch leaves the process.
 */
const scheme = "windhover:events/"

/** The canonical topic of an account's events. */
export const eventsTopicOf = (accountId: number): string => `${scheme}${accountId}`

/** Whether a canonical topic is an account's events. */
export const isEvents = (canonical: string): boolean => canonical.startsWith(scheme)

/** The account of a canonical topic of events. */
export const accountOfEvents = (canonical: string): number => Number(canonical.slice(scheme.length))

/** The URL of the topic, as Windhover writes it. */
export const eventsUrl = (baseUrl: string): string => `${baseUrl.replace(/\/+$/, "")}/events`

/** Whether a URL is the topic of events, in any spelling of the base URL. Its query and fragment do not count. */
export const isEventsUrl = (url: string, baseUrl: string): boolean =>
  isOwn(url, baseUrl) && pathOf(url).replace(/\/$/, "") === pathOf(eventsUrl(baseUrl))

/** The topic itself, or the events of the account for the topic of events. The host chooses the partition. */
export const resolveEvents = (topic: Topic, accountId: number, baseUrl: string): Topic =>
  isEventsUrl(topic.canonical, baseUrl)
    ? { given: topic.given, canonical: eventsTopicOf(accountId), host: `events-${accountId}` }
    : topic
