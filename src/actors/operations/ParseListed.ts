import { Effect } from "effect"
import type { Account, Caller } from "#domain/Account.ts"
import * as Jid from "#domain/Jid.ts"
import { nullDevice } from "#domain/OwnAddress.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import type { ListedItem } from "#domain/transfer/ListLine.ts"
import { jidOf } from "#domain/transfer/RenderExport.ts"
import { hasCredentials, maskCredentials } from "#domain/UrlCredentials.ts"
import type { ImportDefaults } from "./Import.ts"
import { makeParseSubscription } from "./ParseSubscription.ts"

/** Receiver of a subscription: a callback, or a JID of the account. */
type Receiver = { readonly callback: string } | { readonly jid: Jid.Jid }

/** The reason why a line is refused. */
type Reason = string

/**
 * Makes the function that checks an item of a list, as a subscribe does.
 *
 * URLs with a user name or password are accepted from an export of the account's own only. Lists travel further than their author expects,
 * and a subscription shows its topic in lists, logs of receivers and exports.
 */
export const makeParseListed = Effect.gen(function*() {
  const parse = yield* makeParseSubscription
  const { baseUrl, xmppComponent, xmppDomain } = yield* Settings
  const device = nullDevice(baseUrl)

  const findReceiver = (item: ListedItem, account: Account, defaults: ImportDefaults): Receiver | Reason => {
    if (item.nullDevice !== undefined) return { callback: device + item.nullDevice }
    if (item.endpoint === undefined) return defaultReceiver(account, defaults)
    if (jidOf(item.endpoint) === undefined) return { callback: item.endpoint }
    const own = ownJid(item.endpoint, account)
    if (typeof own !== "string") return { jid: own }
    return defaults.jid === undefined ? own : defaultReceiver(account, defaults)
  }

  const defaultReceiver = (account: Account, { callback, jid, nullDevice }: ImportDefaults): Receiver | Reason => {
    if (nullDevice === true) return { callback: device }
    if (callback !== undefined) return { callback }
    if (jid === undefined) return "The line names no callback; name one for all lines with the import."
    const own = ownJid(jid, account)
    return typeof own === "string" ? own : { jid: own }
  }

  const ownJid = (text: string, account: Account): Jid.Jid | Reason => {
    if (xmppComponent === undefined) return "The endpoint is a JID, and XMPP is off here (WINDHOVER_XMPP_COMPONENT)."
    const jid = Jid.parse(text)
    return jid !== undefined && isJidOf(jid, account, Jid.domainOf(xmppDomain))
      ? jid
      : `The endpoint is a JID that is not your account's. Yours is ${account.login}@${xmppDomain}; name a JID of yours with the import.`
  }

  return Effect.fnUntraced(
    function*(item: ListedItem, caller: Caller, defaults: ImportDefaults): Effect.fn.Return<NewSubscription, Reason> {
      const problem = findProblem(item)
      if (problem !== undefined) return yield* Effect.fail(problem)
      const receiver = findReceiver(item, caller.account, defaults)
      if (typeof receiver === "string") return yield* Effect.fail(receiver)
      const format = item.format ?? defaults.format
      const secret = item.secret ?? defaults.secret
      const retry = item.retry ?? defaults.retry
      const isJid = "jid" in receiver
      const parsed = yield* parse({
        caller,
        topic: item.topic,
        callback: isJid ? device : receiver.callback,
        ...(format !== undefined && { format }),
        ...(item.feedsOnly === true && { feedsOnly: true }),
        ...(secret !== undefined && !isJid && { secret }),
        ...(item.headers !== undefined && !isJid && { headers: item.headers }),
        ...(retry !== undefined && { retry }),
        labels: [...item.labels, ...defaults.labels],
        face: "api",
        retrieve: false
      }).pipe(Effect.mapError(({ message }) => maskCredentials(message)))
      const wanted: NewSubscription = item.paused === true ? { ...parsed, state: "paused" } : parsed
      return isJid
        ? { ...wanted, channel: "xmpp", endpoint: Jid.bare(receiver.jid), host: receiver.jid.domain }
        : wanted
    }
  )
})

const findProblem = ({ endpoint = "", isOwn = false, topic }: ListedItem): Reason | undefined => {
  if (topic.includes("\ufffd")) return "The URL holds bytes that are no text in the encoding of the list."
  const secret = [topic, endpoint].find((url) => hasCredentials(url))
  if (secret === undefined) return undefined
  if (secret.includes("//***@")) {
    return "The export was made without secrets, so that the password of the URL is missing."
  }
  return isOwn
    ? undefined
    : "The URL holds a user name or password, which a list may show to others. Subscribe to it by itself."
}

/** The address of the account on the XMPP server, its own JID, or an address of its external component. */
const isJidOf = (jid: Jid.Jid, account: Account, ownDomain: string): boolean => {
  const bare = Jid.bare(jid)
  if (jid.domain === ownDomain) return jid.local === account.login
  return account.jid !== undefined && (account.jid === bare || account.jid === jid.domain)
}
