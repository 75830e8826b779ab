import { countOf } from "#domain/Count.ts"
import { encodeEvent, type Event, eventVersion, type LoggedEvent } from "#domain/Event.ts"
import type { Entry } from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"

/** Characters of a URL or JID in a title. */
const maxNameLength = 200

/** The header of the feed of events. */
export const eventsHeader = (url: string): FeedHeader => ({
  id: url,
  title: { type: "text", value: "Windhover events" }
})

/** An event as an entry of its feed: a sentence, the cause, and the event itself as JSON. `url` is the topic of events. */
export const eventEntry = ({ at, event, id }: LoggedEvent, url: string): Entry => {
  const { type, ...data } = encodeEvent(event)
  const { cause, title } = describeEvent(event)
  return {
    id: `${url}#${id}`,
    title: { type: "text", value: title },
    ...(cause !== undefined && { content: [{ type: "text", value: cause }] }),
    published: at,
    updated: at,
    categories: [{ term: type }],
    language: "en",
    event: { version: eventVersion, id, type, at: Math.floor(at / 1000), data }
  }
}

interface EventDescription {
  readonly title: string
  readonly cause?: string
}

const describeEvent = (event: Event): EventDescription => {
  switch (event.type) {
    case "subscription.failing":
    case "subscription.paused":
    case "subscription.recovered":
    case "subscription.ended":
      return describeSubscription(event)
    case "resource.failing":
      return { title: `${shorten(event.topic)} cannot be fetched or read.`, cause: describeFailure(event) }
    case "resource.recovered":
      return { title: `${shorten(event.topic)} can be fetched again.` }
    case "resource.moved":
      return {
        title: `${shorten(event.topic)} has moved to ${shorten(event.to)}.`,
        cause: "The server redirects permanently. Your subscription keeps its topic."
      }
    case "resource.gone":
      return { title: `${shorten(event.topic)} is gone.`, cause: describeFailure(event) }
    case "hub.lost":
      return { title: `The hub ${shorten(event.hub)} no longer pushes.`, cause: event.message }
    case "account.out_of_allowance":
      return {
        title: "The credits of the account are used up.",
        cause: `The balance is ${event.credits}. Notifications go on.`
      }
    case "database.full":
      return { title: "The database has no room.", cause: event.message }
    case "events.omitted":
      return {
        title: `Left out within a minute: ${
          countOf(event.count, "more event", "more events")
        } of the type ${event.omittedType}.`
      }
  }
}

type SubscriptionEvent = Extract<Event, { readonly type: `subscription.${string}` }>

const describeSubscription = (event: SubscriptionEvent): EventDescription => {
  const subscription = `${shorten(event.endpoint)} for ${shorten(event.topic)}`
  switch (event.type) {
    case "subscription.failing":
      return {
        title: `Notifications have failed for ${event.hours} h: ${subscription}.`,
        cause: describeFailure(event)
      }
    case "subscription.paused":
      return { title: `The subscription is paused: ${subscription}.`, cause: describeFailure(event) }
    case "subscription.recovered":
      return { title: `Notifications arrive again: ${subscription}.` }
    case "subscription.ended":
      return { title: `The subscription has ended: ${subscription}.`, cause: event.message }
  }
}

const describeFailure = ({ code, message }: { readonly code: number; readonly message: string }): string =>
  code === 0 || message.includes(String(code)) ? message : `${code}: ${message}`

const shorten = (name: string): string =>
  name.length > maxNameLength ? `${name.slice(0, maxNameLength - 3).toWellFormed()}...` : name
