import { Schema } from "effect"
import type { Entry } from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { ServerProfile } from "#domain/poll/ServerProfile.ts"
import type { Status } from "#domain/poll/Status.ts"
import type { NewSubscription } from "#domain/ports/SubscriptionStore.ts"
import type { Verification } from "#domain/ports/VerificationQueue.ts"
import { retries } from "#domain/delivery/Retry.ts"
import { signatureMethods } from "#domain/Subscription.ts"

const PermanentRedirectSchema = Schema.Struct({
  to: Schema.String,
  since: Schema.Finite,
  settled: Schema.optionalKey(Schema.Literal(true)),
  topicFailedAt: Schema.optionalKey(Schema.Finite)
})

const serverProfileFields = {
  validatorTrust: Schema.optionalKey(Schema.Literals(["suspect", "lying", "trial"])),
  caughtLyingAt: Schema.optionalKey(Schema.Finite),
  refusedOnce: Schema.optionalKey(Schema.Literal(true)),
  permanentRedirect: Schema.optionalKey(PermanentRedirectSchema),
  unreadableSince: Schema.optionalKey(Schema.Finite),
  lastLocation: Schema.optionalKey(Schema.String),
  truncatedAt: Schema.optionalKey(Schema.Finite),
  leftOutUntil: Schema.optionalKey(Schema.Finite),
  kills: Schema.optionalKey(Schema.Finite),
  killedUntil: Schema.optionalKey(Schema.Finite),
  statusBeforePush: Schema.optionalKey(Schema.Finite)
} satisfies { readonly [field in keyof ServerProfile]-?: Schema.Top }

export const decodeServerProfile: (json: string) => ServerProfile = Schema.decodeSync(
  Schema.fromJsonString(Schema.Struct(serverProfileFields))
)

const OwnHeaders = Schema.Array(Schema.Tuple([Schema.String, Schema.String]))

export const decodeOwnHeaders = Schema.decodeSync(Schema.fromJsonString(OwnHeaders))

const newSubscriptionFields = {
  accountId: Schema.Finite,
  channel: Schema.Literals(["webhook", "xmpp", "null"]),
  endpoint: Schema.String,
  host: Schema.String,
  format: Schema.optionalKey(Schema.Literals(["atom", "json"])),
  feedsOnly: Schema.optionalKey(Schema.Boolean),
  secret: Schema.optionalKey(Schema.String),
  secretGraceSeconds: Schema.optionalKey(Schema.Finite),
  headers: Schema.optionalKey(OwnHeaders),
  labels: Schema.optionalKey(Schema.Array(Schema.String)),
  signature: Schema.optionalKey(Schema.Literals(signatureMethods)),
  retry: Schema.optionalKey(Schema.Literals(retries)),
  face: Schema.Literals(["api", "hub"]),
  state: Schema.Literals(["pending", "active", "paused"]),
  trial: Schema.optionalKey(Schema.Struct({
    sent: Schema.optionalKey(Schema.Struct({ sequence: Schema.Finite, until: Schema.Finite }))
  })),
  leaseUntil: Schema.optionalKey(Schema.Finite),
  network: Schema.optionalKey(Schema.String),
  asker: Schema.optionalKey(Schema.String),
  topic: Schema.Struct({ given: Schema.String, canonical: Schema.String, host: Schema.String }),
  partition: Schema.Finite,
  periodSeconds: Schema.optionalKey(Schema.Finite),
  maxOfAccount: Schema.optionalKey(Schema.Finite),
  firstFetchAt: Schema.optionalKey(Schema.Finite)
} satisfies { readonly [field in keyof NewSubscription]-?: Schema.Top }

const NewSubscriptionSchema = Schema.Struct(newSubscriptionFields)
const isVerification: (value: unknown) => value is Verification = Schema.is(Schema.Union([
  Schema.Struct({
    subscription: NewSubscriptionSchema,
    mode: Schema.Literal("subscribe"),
    leaseSeconds: Schema.Finite,
    verifyToken: Schema.optionalKey(Schema.String)
  }),
  Schema.Struct({ subscription: NewSubscriptionSchema, mode: Schema.Literal("reconfirm") }),
  Schema.Struct({
    subscription: NewSubscriptionSchema,
    mode: Schema.Literal("unsubscribe"),
    verifyToken: Schema.optionalKey(Schema.String)
  }),
  Schema.Struct({ subscription: NewSubscriptionSchema, mode: Schema.Literal("denied"), reason: Schema.String })
]))

/** Keeps the order of the keys, because the queue compares requests as text. */
export const decodeVerification = (json: string): Verification => {
  const value: unknown = JSON.parse(json)
  if (!isVerification(value)) throw new Error("A stored verification request cannot be read.")
  return value
}

export const decodeStrings = Schema.decodeSync(Schema.fromJsonString(Schema.Array(Schema.String)))

// Polls, fan-outs and streams read thousands of these per second. A Schema takes 17 µs per header, a cast 2 µs.
export const decodeHeader = (json: string): FeedHeader => JSON.parse(json)
export const decodeEntry = (json: string): Entry => JSON.parse(json)
export const decodeEntries = (json: string): ReadonlyArray<Entry> => JSON.parse(json)
export const decodeStatus = (json: string): Omit<Status, "feed"> => JSON.parse(json)

/** For a value whose reader checks it. */
export const decodeUnknown = (json: string): unknown => JSON.parse(json)
