import type { Element } from "@xmpp/xml"
import { Cache, Effect, Option, Result } from "effect"
import { type Account, type Caller, rights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { Unavailable } from "#domain/Refusal.ts"
import { statusOf } from "#domain/poll/Resource.ts"
import { matchAll } from "#domain/Search.ts"
import { quote } from "#domain/Topic.ts"
import { Hub, type Representation } from "#actors/operations/Hub.ts"
import * as Conditions from "./Conditions.ts"
import { kept } from "./Elements.ts"
import { documentItem, entryItem, sizeOf, type Style } from "./Items.ts"
import * as Jid from "#domain/Jid.ts"
import * as Replies from "./Replies.ts"
import { read, type Request, type Wanted } from "./Requests.ts"
import { maxStanza } from "./Notifications.ts"

/** Subscriptions of one page of a list. */
const perPage = 20

/** Characters of a resource's name, at most. */
const maxName = 1_000

/** Who asks: the account, and which JIDs are theirs. */
interface Asker {
  readonly caller: Caller
  /** Subscribed with when the request names no other: the bare JID, or the domain of an external component. */
  readonly jid: string
  /** The domain itself, an external component, speaks for all JIDs of it. */
  readonly wholeDomain: boolean
}

type List = Extract<Request, { readonly _tag: "List" }>
type Retrieve = Extract<Request, { readonly _tag: "Retrieve" }>

type Failing<A> = Effect.Effect<A, Conditions.Condition>

/** Answers an iq of type get or set. */
export type Operations = (iq: Element) => Effect.Effect<string>

export const make = Effect.gen(function*() {
  const hub = yield* Hub
  const accounts = yield* AccountStore
  const { extNamespace, xmppDomain } = yield* Settings
  const ownDomain = Jid.domainOf(xmppDomain)

  /** Whoever asks is there: what was paused for an address goes on, which is looked at once a minute. Keys are JIDs, or accounts with a domain. */
  const signsOfLife = yield* Cache.make({
    capacity: 10_000,
    timeToLive: "1 minute",
    lookup: (whose: string) => {
      const [jid = "", accountId] = whose.split("/")
      return accountId === undefined ? hub.resumeJid(jid) : hub.resumeDomain(Number(accountId), jid)
    }
  })

  /** Logins of our own domain are accounts; other JIDs are what an account has named as its own. */
  const accountOf = Effect.fnUntraced(
    function*(jid: Jid.Jid) {
      // whoever has an address of a domain is not the domain: only its server or component sends without a local part
      if (jid.domain !== ownDomain) return yield* accounts.findByJid(Jid.bare(jid))
      return jid.local === undefined ? Option.none<Account>() : yield* accounts.find(jid.local)
    },
    Effect.catchTag(
      "StoreError",
      (error) => error.reason._tag === "Unavailable" ? Effect.fail(away) : Effect.die(error)
    )
  )

  const askerOf = Effect.fnUntraced(function*(from: string) {
    const jid = Jid.parse(from)
    const account = jid === undefined ? Option.none<Account>() : yield* accountOf(jid)
    if (jid === undefined || Option.isNone(account)) {
      return yield* Effect.fail(
        Conditions.forbidden(
          `No account has the address ${
            quote(from)
          }. Log in as <login>@${xmppDomain}, or have it set as the JID of your account.`
        )
      )
    }
    const bare = kept(Jid.bare(jid))
    const whose = jid.local === undefined ? `${bare}/${account.value.id}` : bare
    if (!(yield* Cache.get(signsOfLife, whose))) yield* Cache.invalidate(signsOfLife, whose) // the next request tries again
    return {
      caller: { account: account.value, rights: new Set(rights), credential: `jid:${account.value.id}` },
      jid: bare,
      wholeDomain: jid.local === undefined
    } satisfies Asker
  })

  const requireOwn = ({ jid, wholeDomain }: Asker, wanted: Wanted["jid"]): Failing<void> =>
    (wholeDomain ? wanted.domain : wanted.bare) === jid ? Effect.void : Effect.fail(
      Conditions.invalidJid(
        `${quote(wanted.given)} is not yours: you are ${
          quote(jid)
        }. Subscriptions are made and ended for your own address${wholeDomain ? ", or one of your domain" : ""}.`
      )
    )

  const subscribe = Effect.fnUntraced(function*(asker: Asker, wanted: ReadonlyArray<Wanted>, room: number) {
    const [first] = wanted
    if (first === undefined) return ""
    yield* requireOwn(asker, first.jid)
    const statuses = yield* hub.subscribeJid({
      caller: asker.caller,
      jid: first.jid,
      resources: wanted.map(({ format, node }) => ({ topic: node, ...(format === undefined ? {} : { format }) }))
    })
    const subscribed = wanted.flatMap(({ jid, node }, i) => {
      const status = statuses[i]
      return status === undefined ? [] : [{ node, jid: jid.given, status }]
    })
    return Replies.subscribed(subscribed, extNamespace, room)
  })

  /** What is not subscribed is unsubscribed already. */
  const unsubscribe = Effect.fnUntraced(function*(asker: Asker, wanted: ReadonlyArray<Wanted>) {
    for (const { jid } of wanted) yield* requireOwn(asker, jid)
    for (const { jid, node } of wanted) {
      yield* hub.unsubscribe({ caller: asker.caller, topic: node, callback: jid.bare, face: "api" }).pipe(
        Effect.catchIf(
          ({ reason }) => reason._tag === "BadParameter" && reason.parameter === "hub.callback",
          () => Effect.void
        )
      )
    }
    return ""
  })

  const list = Effect.fnUntraced(function*(asker: Asker, { jid: filter, page }: List, room: number) {
    if (filter !== undefined) yield* requireOwn(asker, filter)
    const jid = filter?.bare ?? asker.jid
    const ofDomain = asker.wholeDomain && jid === asker.jid
    const { items } = yield* hub.list({
      caller: asker.caller,
      page,
      byPage: perPage,
      search: { ...matchAll, ...(ofDomain ? { endpointDomain: jid } : { endpointJid: jid }) }
    })
    const subscriptions = items.map(({ resource, subscription }) => ({
      node: subscription.topic,
      jid: subscription.endpoint,
      status: statusOf(resource, subscription.topic)
    }))
    return Replies.listed(subscriptions, page, extNamespace, room)
  })

  const retrieve = Effect.fnUntraced(function*(asker: Asker, { count, node }: Retrieve, room: number) {
    const found = yield* hub.retrieve({ caller: asker.caller, topic: node, count }).pipe(
      Effect.asSome,
      Effect.catchIf(({ reason }) => reason._tag === "NotSubscribed", () => Effect.succeedNone)
    )
    const items = Option.isNone(found)
      ? ""
      : itemsOf(found.value, extNamespace, room - sizeOf(Replies.retrieved(node, "")))
    return Replies.retrieved(node, items)
  })

  /** Everybody may know what we are; what a resource is, only who subscribed to it. */
  const info = Effect.fnUntraced(function*(from: string, node: string | undefined) {
    if (node === undefined) return Replies.info(undefined, "Windhover", extNamespace)
    const { caller } = yield* askerOf(from)
    const found = yield* hub.retrieve({ caller, topic: node, count: 1 }).pipe(
      Effect.catchIf(
        ({ reason }) => reason._tag === "NotSubscribed" || reason._tag === "BadParameter",
        () => Effect.fail(Conditions.noSuchNode(`You are not subscribed to ${quote(node)}.`))
      )
    )
    return Replies.info(node, (found.status.title ?? "").slice(0, maxName).toWellFormed(), extNamespace)
  })

  const perform = Effect.fnUntraced(function*(from: string, request: Request, room: number) {
    switch (request._tag) {
      case "Ping":
        return ""
      case "Info":
        return yield* info(from, request.node)
      case "Items":
        return Replies.noItems(request.node)
      case "Subscribe":
        return yield* subscribe(yield* askerOf(from), request.wanted, room)
      case "Unsubscribe":
        return yield* unsubscribe(yield* askerOf(from), request.wanted)
      case "List":
        return yield* list(yield* askerOf(from), request, room)
      case "Retrieve":
        return yield* retrieve(yield* askerOf(from), request, room)
    }
  })

  const operations: Operations = (iq) => {
    const request = read(iq, extNamespace)
    if (Result.isFailure(request)) return Effect.succeed(Replies.error(iq, request.failure))
    const room = maxStanza - sizeOf(Replies.result(iq, " "))
    return perform(iq.attrs["from"] ?? "", request.success, room).pipe(
      Effect.map((payload) => Replies.result(iq, payload)),
      Effect.catch((failure) =>
        Effect.succeed(Replies.error(iq, "_tag" in failure ? Conditions.conditionOf(failure.reason) : failure))
      ),
      Effect.catchCause((cause) =>
        Effect.as(
          Effect.logError("XMPP: a request could not be answered", cause),
          Replies.error(iq, Conditions.trouble("Something is wrong inside Windhover; its log says more."))
        )
      )
    )
  }
  return operations
})

const away = Conditions.conditionOf(
  new Unavailable({ message: "The database cannot do this for the moment. Please try again.", retryAfter: 5 })
)

/** Of an answer that has to fit into one stanza, each item has its share. */
const itemsOf = ({ document, entries, format }: Representation, extNamespace: string, room: number): string => {
  const style: Style = { format, extNamespace }
  const share = Math.floor(room / Math.max(1, entries.length))
  return document === undefined
    ? entries.map((entry) => entryItem(entry, style, share)).join("")
    : documentItem(document, style, room)
}
