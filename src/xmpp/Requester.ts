import { Cache, Effect, Option } from "effect"
import { type Account, type Caller, passwordRights } from "#domain/Account.ts"
import * as Jid from "#domain/Jid.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { isUnavailable } from "#domain/ports/StoreError.ts"
import { quote } from "#domain/Topic.ts"
import { Hub } from "#actors/operations/Hub.ts"
import { databaseUnavailable } from "#actors/operations/StoreRefusal.ts"
import * as Conditions from "./Conditions.ts"
import { copyText } from "./Elements.ts"

/** The sender of a request: the account, and its JIDs. */
export interface Requester {
  readonly caller: Caller
  /** The default JID of a subscription: the bare JID, or the domain of an external component. */
  readonly jid: string
  /** True for the domain of an external component, which may use all JIDs of the domain. */
  readonly isDomain: boolean
}

const storeUnavailable = Conditions.toCondition(databaseUnavailable)

/**
 * Makes the function that finds the account of a JID.
 *
 * Each request also resumes the paused subscriptions of its sender, at most once a minute.
 */
export const makeIdentify = Effect.gen(function*() {
  const hub = yield* Hub
  const accounts = yield* AccountStore
  const { xmppDomain } = yield* Settings
  const ownDomain = Jid.domainOf(xmppDomain)

  /** Senders of the last minute. Keys are `jid` or, for an external component, `domain/account id`. */
  const recentSenders = yield* Cache.make({
    capacity: 10_000,
    timeToLive: "1 minute",
    lookup: (sender: string) => {
      const [jid = "", accountId] = sender.split("/")
      return accountId === undefined ? hub.resumeJid(jid) : hub.resumeDomain(Number(accountId), jid)
    }
  })

  /** Finds an account by its login in the domain of the settings, or by its JID in any other domain. */
  const findAccount = Effect.fnUntraced(
    function*(jid: Jid.Jid) {
      if (jid.domain !== ownDomain) return Option.filter(yield* accounts.findByJid(Jid.bare(jid)), isEnabled)
      // only the server itself sends from the domain without a local part
      return jid.local === undefined
        ? Option.none<Account>()
        : Option.filter(yield* accounts.find(jid.local), isEnabled)
    },
    Effect.catchTag(
      "StoreError",
      (error) => isUnavailable(error) ? Effect.fail(storeUnavailable) : Effect.die(error)
    )
  )

  return Effect.fnUntraced(function*(from: string) {
    const jid = Jid.parse(from)
    const account = jid === undefined ? Option.none<Account>() : yield* findAccount(jid)
    if (jid === undefined || Option.isNone(account)) {
      return yield* Effect.fail(
        Conditions.forbidden(
          `No account has the address ${
            quote(from)
          }. Log in as <login>@${xmppDomain}, or have it set as the JID of your account.`
        )
      )
    }
    const bare = copyText(Jid.bare(jid))
    const sender = jid.local === undefined ? `${bare}/${account.value.id}` : bare
    if (!(yield* Cache.get(recentSenders, sender))) yield* Cache.invalidate(recentSenders, sender) // the next request tries again
    return {
      caller: {
        account: account.value,
        rights: new Set(passwordRights(account.value)),
        credential: `jid:${account.value.id}`
      },
      jid: bare,
      isDomain: jid.local === undefined
    } satisfies Requester
  })
})

const isEnabled = ({ disabled }: Account): boolean => disabled !== true
