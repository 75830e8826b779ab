import { Context, type Effect, Schema } from "effect"
import { type AccountChanges, type Right, tokenRights } from "#domain/Account.ts"
import { outcomes } from "#domain/delivery/DeliveryLogEntry.ts"
import { failureReasons } from "#domain/delivery/FailureReason.ts"

/** Rejected or failed operation of an administrator. `message` gives the cause and the remedy. */
export class AdministrationError extends Schema.TaggedError<AdministrationError>()("AdministrationError", {
  message: Schema.String
}) {}

export const AccountView = Schema.Struct({
  id: Schema.Int,
  login: Schema.String,
  credits: Schema.Finite,
  createdAt: Schema.Finite,
  admin: Schema.optionalKey(Schema.Boolean),
  disabled: Schema.optionalKey(Schema.Boolean),
  maxSubscriptions: Schema.optionalKey(Schema.Int)
})

export const AccountPageView = Schema.Struct({
  items: Schema.Array(AccountView),
  /** Id behind which the next page begins. */
  next: Schema.optionalKey(Schema.Int)
})

export const TokenView = Schema.Struct({
  id: Schema.Int,
  name: Schema.String,
  rights: Schema.Array(Schema.Literals(tokenRights)),
  createdAt: Schema.Finite,
  usedAt: Schema.optionalKey(Schema.Finite)
})

export const PingView = Schema.Struct({
  topic: Schema.String,
  receivedAt: Schema.Finite,
  withContent: Schema.Boolean,
  /** Outcome in words. */
  outcome: Schema.String
})

export const HubView = Schema.Struct({
  hub: Schema.String,
  subscriptions: Schema.Int,
  pushed: Schema.Finite,
  missed: Schema.Finite,
  /** In words: whether Windhover relies on the hub's pushes, and for how many subscriptions. */
  trust: Schema.String
})

const attemptFields = {
  topic: Schema.String,
  endpoint: Schema.String,
  id: Schema.String,
  triedAt: Schema.Finite,
  code: Schema.Int,
  message: Schema.String,
  reason: Schema.optionalKey(Schema.Literals(failureReasons)),
  answer: Schema.optionalKey(Schema.String),
  latency: Schema.optionalKey(Schema.Finite),
  bytes: Schema.optionalKey(Schema.Finite)
}

const DeliveryView = Schema.Union([
  Schema.Struct({
    ...attemptFields,
    outcome: Schema.Literals(["delivered", "failed", "dropped", "bounced", "ended"]),
    subscriptionId: Schema.Finite,
    sequence: Schema.Finite,
    attempt: Schema.Int,
    notificationId: Schema.optionalKey(Schema.String),
    nextTry: Schema.optionalKey(Schema.Finite)
  }),
  Schema.Struct({ ...attemptFields, outcome: Schema.Literal("denied") })
])

/** Filter of deliveries. Times are epoch ms. */
export const DeliveryFilter = Schema.Struct({
  subscriptionId: Schema.optionalKey(Schema.Int),
  host: Schema.optionalKey(Schema.String),
  topic: Schema.optionalKey(Schema.String),
  outcome: Schema.optionalKey(Schema.Literals(outcomes)),
  reason: Schema.optionalKey(Schema.Literals(failureReasons)),
  code: Schema.optionalKey(Schema.Int),
  from: Schema.optionalKey(Schema.Finite),
  to: Schema.optionalKey(Schema.Finite),
  after: Schema.optionalKey(Schema.String)
})
export type DeliveryFilter = typeof DeliveryFilter.Type

export const DeliveryPageView = Schema.Struct({
  items: Schema.Array(DeliveryView),
  next: Schema.optionalKey(Schema.String)
})

export type AdministrationEffect<A> = Effect.Effect<A, AdministrationError>

/**
 * Operations of an administrator.
 *
 * `AdministrationLayer` performs them in this process, `AdministrationSocket` in a running service.
 */
export class Administration extends Context.Service<Administration, {
  /** The first account is an operator's. */
  readonly createAccount: (
    login: string,
    password: string,
    admin: boolean
  ) => AdministrationEffect<typeof AccountView.Type>
  /** A page of the accounts, oldest first. */
  readonly accounts: (after: number | undefined, limit: number) => AdministrationEffect<typeof AccountPageView.Type>
  readonly setPassword: (login: string, password: string) => AdministrationEffect<void>
  /** Rejects an invalid JID, and stores its normalized form. */
  readonly changeAccount: (login: string, changes: AccountChanges) => AdministrationEffect<void>
  /** Adds credits, or takes them back. Returns the balance. */
  readonly addCredits: (login: string, credits: number) => AdministrationEffect<number>
  /** Deletes an account without subscriptions. */
  readonly deleteAccount: (login: string) => AdministrationEffect<void>
  readonly createToken: (
    login: string,
    name: string,
    rights: ReadonlyArray<Right>
  ) => AdministrationEffect<{ readonly token: typeof TokenView.Type; readonly secret: string }>
  readonly tokens: (login: string) => AdministrationEffect<ReadonlyArray<typeof TokenView.Type>>
  readonly revokeToken: (login: string, id: number) => AdministrationEffect<void>
  /** Pings of an account, newest first. Without a login: of all accounts. */
  readonly pings: (
    login: string | undefined,
    limit: number
  ) => AdministrationEffect<ReadonlyArray<typeof PingView.Type>>
  /** A page of the delivery log of an account, newest first. Without a login: of all accounts. */
  readonly deliveries: (
    login: string | undefined,
    filter: DeliveryFilter,
    limit: number
  ) => AdministrationEffect<typeof DeliveryPageView.Type>
  /** Publishers' hubs with Windhover's subscriptions, the largest number first. */
  readonly hubs: (limit: number) => AdministrationEffect<ReadonlyArray<typeof HubView.Type>>
  /** Begins an ordinary stop of the service, as SIGTERM does. */
  readonly stop: AdministrationEffect<void>
}>()("windhover/cli/Administration") {}
