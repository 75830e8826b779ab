import type { FeedHeader } from "#domain/feed/Feed.ts"
import {
  maxCountedSubscribers,
  type ResourceKind,
  type ResourceProfile,
  type ResourceState,
  type ServerProfile
} from "#domain/poll/Resource.ts"
import { copyOf, millis, unsigned } from "./Values.ts"

/** Stored numbers of the kinds: append only. */
export const kinds: ReadonlyArray<ResourceKind> = ["unknown", "feed", "json", "html-fragment", "json-fragment", "other"]

/** Columns of a `ResourceProfile`. */
export interface ProfileRow {
  readonly kind: number
  readonly header: string | null
  readonly next_fetch: number
  readonly last_fetch: number | null
  readonly period: number
  readonly code: number | null
  readonly http: string | null
  readonly last_parse: number | null
  readonly generated_ids: boolean
  readonly entries_since: number
  readonly last_maintenance_at: number | null
  readonly velocity: number | null
  readonly popularity: number | null
  readonly porn_rank: number | null
  readonly bozo_rank: number | null
}

export interface ResourceRow extends ProfileRow {
  readonly id: number
  readonly url: string
  readonly host: string
  readonly partition: number
  readonly failures: number
  readonly last_full: number | null
  readonly etag: string | null
  readonly last_modified: string | null
  readonly learned: string | null
  readonly signature: bigint | null
  readonly in_error: boolean
  readonly seen: Uint8Array
  readonly slices: Uint8Array
  readonly id_policy: string | null
  readonly subscribers: number
  readonly on_hub: boolean
}

/** A subscription that gets notifications at `$1` (epoch ms). */
export const live = (alias: string): string =>
  `${alias}.state = 1 and (${alias}.lease_until is null or ${alias}.lease_until > to_timestamp($1::float8 / 1000.0))`

/**
 * One that is told at `$1`: live, or of the hub face and being verified; what happens meanwhile waits for its callback to agree.
 */
export const told = (alias: string): string =>
  `(${alias}.state = 1 or ${alias}.face = 1 and ${alias}.state = 0) and (${alias}.lease_until is null or ${alias}.lease_until > to_timestamp($1::float8 / 1000.0))`

/** What a `ProfileRow` holds of resources `r`, `s`, `t`. */
export const profileColumns = `r.kind, r.header, ${millis("s.next_fetch")} as next_fetch, ${
  millis("s.last_fetch")
} as last_fetch,
  s.period, s.http_code as code, t.http_message as http, ${millis("t.last_parse")} as last_parse,
  r.generated_ids, t.entries_since_maintenance as entries_since, ${
  millis("r.last_maintenance_at")
} as last_maintenance_at,
  r.velocity, r.popularity, r.porn_rank, r.bozo_rank`

/** Resources `r` with their rows `s` and `t`. */
export const resourceTables =
  `resources r join schedule s on s.resource_id = r.id join resource_state t on t.resource_id = r.id`

/** The whole state of resources `r`, `s`, `t`; `$1` is now, epoch ms. */
export const selectResources = `
select r.id::float8 as id, r.url, r.host, r.partition, ${profileColumns},
  s.failures, ${
  millis("t.last_full")
} as last_full, t.etag, t.last_modified, t.server_profile as learned, t.fingerprint as signature, t.in_error, t.seen, t.slices, r.id_policy,
  (select count(*) from (select from subscriptions u where u.resource_id = r.id and ${
  live("u")
} limit ${maxCountedSubscribers}) counted)::int4 as subscribers,
  exists (select from subscriptions u where u.resource_id = r.id and u.face = 1 and ${told("u")}) as on_hub
from ${resourceTables}`

const optional = <K extends string, A>(key: K, value: A | null | undefined): { readonly [k in K]?: A } =>
  value === null || value === undefined ? {} : { [key]: value } as { readonly [k in K]: A }

/** Assigned one by one: a list makes hundreds of them. */
export const profileOf = (id: number, row: ProfileRow): ResourceProfile => {
  const profile: { -readonly [K in keyof ResourceProfile]: ResourceProfile[K] } = {
    id,
    kind: kinds[row.kind] ?? "unknown",
    nextFetch: row.next_fetch,
    period: row.period,
    generatedIds: row.generated_ids,
    entriesSinceMaintenance: row.entries_since
  }
  if (row.header !== null) profile.header = JSON.parse(row.header) as FeedHeader
  if (row.last_fetch !== null) profile.lastFetch = row.last_fetch
  if (row.code !== null) profile.code = row.code
  if (row.http !== null) profile.http = row.http
  if (row.last_parse !== null) profile.lastParse = row.last_parse
  if (row.last_maintenance_at !== null) profile.lastMaintenanceAt = row.last_maintenance_at
  if (row.velocity !== null) profile.velocity = row.velocity
  if (row.popularity !== null) profile.popularity = row.popularity
  if (row.porn_rank !== null) profile.pornRank = row.porn_rank
  if (row.bozo_rank !== null) profile.bozoRank = row.bozo_rank
  return profile
}

export const resourceOf = (row: ResourceRow): ResourceState => ({
  ...profileOf(row.id, row),
  url: row.url,
  host: row.host,
  partition: row.partition,
  failures: row.failures,
  ...optional("lastUnconditionalFetch", row.last_full),
  ...optional("etag", row.etag),
  ...optional("lastModified", row.last_modified),
  ...optional("serverProfile", row.learned === null ? null : JSON.parse(row.learned) as ServerProfile),
  ...optional("signature", row.signature === null ? null : unsigned(row.signature)),
  inError: row.in_error,
  seen: copyOf(row.seen),
  slices: copyOf(row.slices),
  ...optional("idPolicy", row.id_policy === null ? null : JSON.parse(row.id_policy) as unknown),
  subscribers: row.subscribers,
  ...(row.on_hub ? { hasHubSubscribers: true } : {})
})
