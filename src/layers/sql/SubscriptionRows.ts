import { Result } from "effect"
import { retries } from "#domain/delivery/Retry.ts"
import type { BriefItem } from "#domain/ports/SubscriptionStore.ts"
import type { Channel, Face, SignatureMethod, Subscription, SubscriptionState } from "#domain/Subscription.ts"
import type { Box, UnreadableSecret } from "./SecretBox.ts"
import { decodeOwnHeaders } from "./StoredJson.ts"
import { millis } from "./Values.ts"

/** Stored numbers: append only. */
export const channels: ReadonlyArray<Channel> = ["webhook", "xmpp", "null"]
export const faces: ReadonlyArray<Face> = ["api", "hub"]
export const states: ReadonlyArray<SubscriptionState> = ["pending", "active", "paused"]
export const methods: ReadonlyArray<SignatureMethod> = ["sha1", "sha256", "sha384", "sha512"]

type FormatChoice = Pick<Subscription, "format" | "feedsOnly">

export const formats: ReadonlyArray<FormatChoice> = [
  { format: "atom" },
  { format: "json" },
  { format: "atom", feedsOnly: true },
  { format: "json", feedsOnly: true }
]

export const formatCode = ({ feedsOnly, format }: FormatChoice): number | null => {
  const code = formats.findIndex((known) => known.format === format && known.feedsOnly === (feedsOnly || undefined))
  return code < 0 ? null : code
}

export interface SubscriptionRow {
  readonly id: number
  readonly account: number
  readonly resource: number
  readonly topic: string
  readonly channel: number
  readonly endpoint: string
  readonly host: string
  readonly format: number | null
  readonly secret: Uint8Array | null
  readonly previous_secret: Uint8Array | null
  readonly previous_until: number | null
  readonly headers: Uint8Array | null
  readonly signature: number | null
  readonly retry: number | null
  readonly face: number
  readonly state: number
  readonly failing_since: number | null
  readonly announced: number
  readonly lease_until: number | null
  readonly created_at: number
  readonly network: string | null
  readonly asker: string | null
  readonly labels: ReadonlyArray<string>
}

/** Columns of a `SubscriptionRow` from subscriptions `u`. */
export const subscriptionSelect =
  `u.id::float8 as id, u.account_id as account, u.resource_id::float8 as resource, u.topic,
  u.channel, u.endpoint, u.host, u.format, u.secret, u.previous_secret, u.headers, u.signature_method as signature, u.retry, u.face, u.state,
  ${millis("u.failing_since")} as failing_since, u.failing_announced as announced,
  ${millis("u.lease_until")} as lease_until, ${millis("u.previous_secret_until")} as previous_until, ${
    millis("u.created_at")
  } as created_at, u.network, u.asker, u.labels`

/**
 * A row of a brief list.
 *
 * V8 makes dictionaries of rows with 20 columns or more. These take several times as long as plain objects.
 */
export type BriefRow = Pick<
  SubscriptionRow,
  "account" | "topic" | "endpoint" | "format" | "secret" | "headers" | "face"
>

/** The columns of a `BriefRow` that can differ between the subscriptions of an account, from subscriptions `u`. */
export const briefContent: ReadonlyArray<string> = [
  "u.topic",
  "u.endpoint",
  "u.format",
  "u.secret",
  "u.headers",
  "u.face"
]

/** Columns of a `BriefRow` from subscriptions `u`. */
export const briefSelect = `u.account_id as account, ${briefContent.join(", ")}`

/** Sealed columns. */
type SecretColumn = "secret" | "previous_secret" | "headers"

/** Purpose of a sealed column: bound to the account and the receiver, which no one can change in the row. */
export const secretPurpose = (
  column: SecretColumn,
  { accountId, endpoint, face }: Pick<Subscription, "accountId" | "endpoint" | "face">
): string => JSON.stringify([`subscriptions.${column}`, accountId, face, endpoint])

/** A subscription whose secret or headers cannot be decrypted is `unreadable`. */
export const subscriptionOf = (box: Box) => (row: SubscriptionRow): Subscription => {
  const subscription = withoutSecrets(row)
  if (row.secret === null && row.headers === null) return subscription
  const open = (column: SecretColumn) => openSealed(box, row[column], column, subscription)
  return Result.match(Result.all({ secret: open("secret"), headers: open("headers") }), {
    onSuccess: ({ headers, secret }) => ({
      ...subscription,
      ...(secret !== undefined && { secret }),
      ...previousOf(row, open("previous_secret")),
      ...(headers !== undefined && headersOf(headers))
    }),
    onFailure: ({ message }) => ({ ...subscription, unreadable: message })
  })
}

/** As `subscriptionOf`: without the secret when the secret or the headers cannot be decrypted. */
export const briefOf = (box: Box) => (row: BriefRow): BriefItem["subscription"] => {
  const { endpoint, secret, topic } = row
  const brief = { topic, endpoint, ...(row.format === null ? {} : formats[row.format]) }
  if (secret === null) return brief
  const owner = { accountId: row.account, endpoint, face: faceOf(row) }
  const opened = Result.all([
    openSealed(box, secret, "secret", owner),
    openSealed(box, row.headers, "headers", owner)
  ])
  return Result.isSuccess(opened) && opened.success[0] !== undefined ? { ...brief, secret: opened.success[0] } : brief
}

const openSealed = (
  box: Box,
  sealed: Uint8Array | null,
  column: SecretColumn,
  owner: Pick<Subscription, "accountId" | "endpoint" | "face">
): Opened => sealed === null ? noSecret : box.open(sealed, secretPurpose(column, owner))

type Opened = Result.Result<string | undefined, UnreadableSecret>

const noSecret: Opened = Result.succeed(undefined)

/** An unreadable previous secret does not count: the present one signs. */
const previousOf = ({ previous_until: until }: SubscriptionRow, previous: Opened): Partial<Subscription> =>
  Result.isSuccess(previous) && previous.success !== undefined && until !== null
    ? { previousSecret: previous.success, previousSecretUntil: until }
    : {}

const headersOf = (json: string): Pick<Subscription, "headers"> => {
  const headers = decodeOwnHeaders(json)
  return headers.length === 0 ? {} : { headers }
}

const faceOf = ({ face }: Pick<SubscriptionRow, "face">): Face => faces[face] ?? "api"

const withoutSecrets = (row: SubscriptionRow): Subscription => {
  const signature = row.signature === null ? undefined : methods[row.signature]
  const retry = row.retry === null ? undefined : retries[row.retry]
  return {
    id: row.id,
    accountId: row.account,
    resourceId: row.resource,
    topic: row.topic,
    channel: channels[row.channel] ?? "webhook",
    endpoint: row.endpoint,
    host: row.host,
    ...(row.format === null ? {} : formats[row.format]),
    ...(signature === undefined ? {} : { signature }),
    ...(retry === undefined ? {} : { retry }),
    face: faceOf(row),
    state: states[row.state] ?? "paused",
    ...(row.failing_since === null ? {} : { failing: { since: row.failing_since, announced: row.announced } }),
    ...(row.lease_until === null ? {} : { leaseUntil: row.lease_until }),
    createdAt: row.created_at,
    ...(row.network === null ? {} : { network: row.network }),
    ...(row.asker === null ? {} : { asker: row.asker }),
    ...(row.labels.length > 0 && { labels: row.labels })
  }
}
