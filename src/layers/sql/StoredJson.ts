import { Schema } from "effect"
import type { Entry } from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"
import type { ServerProfile } from "#domain/poll/Resource.ts"
import type { Status } from "#domain/poll/Status.ts"

const PermanentRedirectSchema = Schema.Struct({
  to: Schema.String,
  since: Schema.Number,
  settled: Schema.optionalKey(Schema.Literal(true)),
  topicFailedAt: Schema.optionalKey(Schema.Number)
})

const serverProfileFields = {
  validatorTrust: Schema.optionalKey(Schema.Literals(["suspect", "lying", "trial"])),
  caughtLyingAt: Schema.optionalKey(Schema.Number),
  permanentRedirect: Schema.optionalKey(PermanentRedirectSchema),
  unreadableSince: Schema.optionalKey(Schema.Number),
  lastLocation: Schema.optionalKey(Schema.String),
  truncatedAt: Schema.optionalKey(Schema.Number),
  statusBeforePush: Schema.optionalKey(Schema.Number)
} satisfies { readonly [field in keyof ServerProfile]-?: Schema.Top }

export const decodeServerProfile: (json: string) => ServerProfile = Schema.decodeSync(
  Schema.fromJsonString(Schema.Struct(serverProfileFields))
)

export const decodeStrings = Schema.decodeSync(Schema.fromJsonString(Schema.Array(Schema.String)))

// Polls, fan-outs and streams read thousands of these per second. A Schema takes 17 µs per header, a cast 2 µs.
export const decodeHeader = (json: string): FeedHeader => JSON.parse(json)
export const decodeEntry = (json: string): Entry => JSON.parse(json)
export const decodeStatus = (json: string): Omit<Status, "feed"> => JSON.parse(json)

/** For a value whose reader checks it. */
export const decodeUnknown = (json: string): unknown => JSON.parse(json)
