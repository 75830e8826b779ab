import { Effect, Result } from "effect"
import type { Caller } from "#domain/Account.ts"
import { eventsTopicOf, isEventsUrl, resolveEvents } from "#domain/EventsTopic.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { badParameter, Forbidden, type Refusal, refuse } from "#domain/Refusal.ts"
import type { Search } from "#domain/Search.ts"
import * as Topic from "#domain/Topic.ts"

/**
 * Makes the parser of topics of the API face. The topic of events becomes the events of the caller's account.
 *
 * The events of an operator's account are the events of all accounts, and need a credential with the right `admin`.
 */
export const makeParseTopic = Effect.map(
  Settings,
  ({ baseUrl }) =>
    Effect.fnUntraced(function*(given: string, { account, rights }: Caller, parameter = "hub.topic") {
      const topic = yield* Effect.fromResult(Topic.parse(given, parameter))
      if (!isEventsUrl(topic.canonical, baseUrl)) return topic
      const { hash, search } = new URL(topic.canonical)
      if (search !== "" || hash !== "") {
        return yield* badParameter(
          parameter,
          `The topic of events has neither a query nor a fragment: received ${Topic.quote(given)}.`
        )
      }
      if (account.admin === true && !rights.has("admin")) return yield* refuseEvents
      return resolveEvents(topic, account.id, baseUrl)
    })
)

/** A token that reads less than all accounts reads no events of an operator. */
export const refuseEvents = refuse(
  new Forbidden({
    right: "admin",
    message: "The events of this account are the events of all accounts, because it is an operator's, " +
      "and this token does not have the right \"admin\". Use a token that has \"admin\", or the password."
  })
)

/** Makes the test whether a caller may read the events among its subscriptions. */
export const makeMayRead = Effect.map(
  Settings,
  ({ baseUrl }) => ({ account, rights }: Caller, { topic }: { readonly topic: string }): boolean =>
    account.admin !== true || rights.has("admin") || !isEventsUrl(topic, baseUrl)
)

/** Makes the function that turns the topic of events in a search into the events of the account. */
export const makeResolveSearch = Effect.map(
  Settings,
  ({ baseUrl }) => (search: Search, { account }: Caller): Search =>
    search.feedUrl !== undefined && isEventsUrl(search.feedUrl, baseUrl)
      ? { ...search, feedUrl: eventsTopicOf(account.id) }
      : search
)

/** The partition of the topic of a stored subscription. */
export const makePartitionOf = Effect.map(
  Settings,
  ({ baseUrl }) => ({ accountId, topic }: { readonly accountId: number; readonly topic: string }): number => {
    const parsed = Topic.parse(topic)
    return Result.isSuccess(parsed)
      ? Topic.partitionOf(resolveEvents(parsed.success, accountId, baseUrl).host)
      : 0
  }
)

/** Refuses the topic of events on the hub face, whose subscribers have no account. */
export const refuseStrangersEvents = (topic: Topic.Topic, baseUrl: string): Effect.Effect<void, Refusal> =>
  isEventsUrl(topic.canonical, baseUrl)
    ? Effect.fail(
      badParameter(
        "hub.topic",
        `${
          Topic.quote(topic.given)
        } has the events of an account: subscribe with your login and token, through the API.`
      )
    )
    : Effect.void
