import { Effect, Layer, Option, Redacted } from "effect"
import {
  type AccountChanges,
  loginProblem,
  passwordProblem,
  type Right,
  tokenNameProblem,
  tokenRights
} from "#domain/Account.ts"
import { parsePosition } from "#domain/delivery/DeliveryLogEntry.ts"
import * as Jid from "#domain/Jid.ts"
import { describePing } from "#domain/poll/PingOutcome.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { Settings } from "#domain/ports/Settings.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import { type HubReport, maxConsecutiveMisses } from "#domain/websub/HubSubscription.ts"
import * as Topic from "#domain/Topic.ts"
import {
  Administration,
  type AdministrationEffect,
  AdministrationError,
  type DeliveryFilter
} from "./Administration.ts"

type Accounts = AccountStore["Service"]

/** Performs the operations in this process, over the stores. */
export const layer = Layer.effect(
  Administration,
  Effect.gen(function*() {
    const accounts = yield* AccountStore
    const pings = yield* Pings
    const deliveryLog = yield* DeliveryLog
    const hubSubscriptions = yield* HubSubscriptionStore
    const { xmppDomain } = yield* Settings
    return Administration.of({
      createAccount: (login, password, admin) => createAccount(accounts, login, password, admin),
      accounts: Effect.fn("Administration.accounts")((after, limit) =>
        failOnStoreError(accounts.list({ limit, ...(after !== undefined && { after }) }))
      ),
      setPassword: (login, password) => setPassword(accounts, login, password),
      changeAccount: (login, changes) => changeAccount(accounts, xmppDomain, login, changes),
      addCredits: Effect.fn("Administration.addCredits")(function*(login, credits) {
        const balance = yield* accounts.addCredits(login, credits).pipe(failOnStoreError)
        return Option.isNone(balance) ? yield* unknownAccount(login) : balance.value
      }),
      deleteAccount: (login) => deleteAccount(accounts, login),
      createToken: (login, name, granted) => createToken(accounts, login, name, granted),
      tokens: Effect.fn("Administration.tokens")(function*(login) {
        return yield* accounts.listTokens((yield* findAccount(accounts, login)).id).pipe(failOnStoreError)
      }),
      revokeToken: (login, id) => revokeToken(accounts, login, id),
      pings: Effect.fn("Administration.pings")(function*(login, limit) {
        const found = yield* pings.list({ ...(yield* filterByLogin(accounts, login)), limit }).pipe(failOnStoreError)
        return found.map(({ outcome, receivedAt, topic, withContent }) => ({
          topic,
          receivedAt,
          withContent,
          outcome: describePing(outcome)
        }))
      }),
      deliveries: (login, filter, limit) => listDeliveries(accounts, deliveryLog, login, filter, limit),
      stop,
      hubs: Effect.fn("Administration.hubs")(function*(limit) {
        const reports = yield* hubSubscriptions.hubs(limit).pipe(failOnStoreError)
        return reports.map((report) => {
          const { hub, missed, pushed, subscriptions } = report
          return { hub, subscriptions, pushed, missed, trust: describeReliability(report) }
        })
      })
    })
  })
)

/** Time in which the answer reaches the command, before the socket closes. */
const answerTime = "100 millis"

const stop = Effect.sync(() => void process.kill(process.pid, "SIGTERM")).pipe(
  Effect.delay(answerTime),
  Effect.forkDetach,
  Effect.asVoid
)

const fail = (message: string) => new AdministrationError({ message })

const failOnStoreError = <A>(effect: Effect.Effect<A, StoreError | AdministrationError>): AdministrationEffect<A> =>
  Effect.mapError(effect, (error) => error._tag === "StoreError" ? fail(error.message) : error)

const findAccount = Effect.fnUntraced(function*(accounts: Accounts, login: string) {
  const found = yield* accounts.find(login).pipe(failOnStoreError)
  return Option.isNone(found) ? yield* unknownAccount(login) : found.value
})

const unknownAccount = (login: string) =>
  fail(`There is no account ${JSON.stringify(login)}. 'windhover account list' shows all accounts.`)

const deleteAccount = Effect.fn("Administration.deleteAccount")(function*(accounts: Accounts, login: string) {
  const result = yield* accounts.remove(login).pipe(failOnStoreError)
  if (result === "unknown") return yield* unknownAccount(login)
  if (result === "subscribed") {
    return yield* fail(
      `The account ${
        JSON.stringify(login)
      } has subscriptions. An operator ends and deletes all of it at /dashboard/accounts, ` +
        `or with POST /api/accounts/delete.`
    )
  }
})

const filterByLogin = (accounts: Accounts, login: string | undefined) =>
  login === undefined
    ? Effect.succeed({})
    : Effect.map(findAccount(accounts, login), ({ id }) => ({ accountId: id }))

const listDeliveries = Effect.fn("Administration.deliveries")(function*(
  accounts: Accounts,
  log: DeliveryLog["Service"],
  login: string | undefined,
  { topic: given, ...filter }: DeliveryFilter,
  limit: number
) {
  if (filter.after !== undefined && parsePosition(filter.after) === undefined) {
    return yield* fail(
      `${JSON.stringify(filter.after)} is no position of the log; use the one that the page before has named.`
    )
  }
  const topic = given === undefined ? {} : { topic: { given, canonical: (yield* parseTopic(given)).canonical } }
  return yield* log.list({ ...filter, ...topic, ...(yield* filterByLogin(accounts, login)), limit }).pipe(
    failOnStoreError
  )
})

const parseTopic = (given: string) =>
  Effect.mapError(Effect.fromResult(Topic.parse(given, "--topic")), ({ message }) => fail(message))

const checkPassword = (password: string) => {
  const problem = passwordProblem(password)
  return problem === undefined ? Effect.void : Effect.fail(fail(problem))
}

const createAccount = Effect.fn("Administration.createAccount")(
  function*(accounts: Accounts, login: string, password: string, admin: boolean) {
    const problem = loginProblem(login)
    if (problem !== undefined) return yield* fail(`${JSON.stringify(login)} cannot be a login. ${problem}`)
    yield* checkPassword(password)
    const isFirst = (yield* accounts.list({ limit: 1 }).pipe(failOnStoreError)).items.length === 0
    return yield* accounts.create(login, Redacted.make(password), { admin: admin || isFirst }).pipe(
      Effect.catchTag("LoginTaken", () => Effect.fail(fail(`The account ${JSON.stringify(login)} exists already.`))),
      failOnStoreError
    )
  }
)

const setPassword = Effect.fn("Administration.setPassword")(
  function*(accounts: Accounts, login: string, password: string) {
    yield* checkPassword(password)
    const { login: existing } = yield* findAccount(accounts, login)
    yield* accounts.setPassword(existing, Redacted.make(password)).pipe(failOnStoreError)
  }
)

const changeAccount = Effect.fn("Administration.changeAccount")(
  function*(accounts: Accounts, xmppDomain: string, login: string, { jid, ...changes }: AccountChanges) {
    const { login: existing } = yield* findAccount(accounts, login)
    if (jid === undefined && Object.values(changes).every((change) => change === undefined)) {
      return yield* fail(
        `Nothing to change for ${
          JSON.stringify(login)
        }: give --jid, --legacy-item-namespace, --admin, --disabled or --max-subscriptions.`
      )
    }
    const bare = jid === undefined || jid === null ? jid : Jid.bareOf(jid)
    if (bare === undefined && jid !== undefined) {
      return yield* fail(
        `${JSON.stringify(jid)} is no JID; use one such as login@example.org, or the domain of an external component.`
      )
    }
    const problem = typeof bare === "string" ? ownDomainProblem(bare, existing, xmppDomain) : undefined
    if (problem !== undefined) return yield* fail(problem)
    yield* accounts.update(existing, { ...changes, ...(bare === undefined ? {} : { jid: bare }) }).pipe(
      Effect.catchTag("JidTaken", () => Effect.fail(fail(`Another account has the JID ${JSON.stringify(bare)}.`))),
      failOnStoreError
    )
  }
)

/** In the service's own XMPP domain, the login decides about the account, so that a JID of this domain would have no effect. */
const ownDomainProblem = (bare: string, login: string, xmppDomain: string): string | undefined => {
  const { domain, local } = Jid.parse(bare) ?? { domain: bare }
  if (domain !== Jid.domainOf(xmppDomain)) return undefined
  if (local === undefined) return `${JSON.stringify(bare)} is the domain of all accounts (WINDHOVER_XMPP_DOMAIN).`
  return local === login
    ? `${JSON.stringify(bare)} is the address of this account already. --jid is for an address on another server.`
    : `${JSON.stringify(bare)} is the address of the account ${JSON.stringify(local)}: in the domain of `
      + "WINDHOVER_XMPP_DOMAIN, the login is the address. Use an address on another server."
}

const createToken = Effect.fn("Administration.createToken")(
  function*(accounts: Accounts, login: string, name: string, granted: ReadonlyArray<Right>) {
    if (granted.length === 0) return yield* fail(`A token needs at least one right of: ${tokenRights.join(", ")}.`)
    const problem = tokenNameProblem(name)
    if (problem !== undefined) return yield* fail(problem)
    const { admin, id } = yield* findAccount(accounts, login)
    if (granted.includes("admin") && admin !== true) {
      return yield* fail(
        `The account ${JSON.stringify(login)} is no operator's, so that its tokens cannot have the right "admin". `
          + `'windhover account set ${login} --admin' makes it one.`
      )
    }
    const { secret, token } = yield* accounts.createToken({ accountId: id, name, rights: granted }).pipe(
      failOnStoreError
    )
    return { token, secret: Redacted.value(secret) }
  }
)

const revokeToken = Effect.fn("Administration.revokeToken")(function*(accounts: Accounts, login: string, id: number) {
  const account = yield* findAccount(accounts, login)
  const wasRevoked = yield* accounts.revokeToken(account.id, id).pipe(failOnStoreError)
  if (!wasRevoked) return yield* fail(`The account ${JSON.stringify(login)} has no token ${id}.`)
})

const describeReliability = ({ consecutiveMisses, reliable }: HubReport): string =>
  consecutiveMisses >= maxConsecutiveMisses ? "no: dead" : reliable === 0 ? "no" : `for ${reliable}`
