import { maxCountedSubscribers, type ResourceProfile, type ResourceState } from "#domain/poll/Resource.ts"
import { hasRow, isLive } from "./Conditions.ts"
import {
  innerColumns,
  type InnerField,
  profileColumns,
  type ProfileField,
  type StoredColumn
} from "./ResourceColumns.ts"

/** Values of a `ResourceProfile` as the driver returns these; null when absent. */
export type ProfileRow = { readonly [F in ProfileField]: unknown }

export interface ResourceRow extends ProfileRow, Readonly<Record<InnerField, unknown>> {
  readonly id: number
  readonly url: string
  readonly host: string
  readonly partition: number
  readonly subscribers: number
  readonly on_hub: boolean
  readonly of_accounts: boolean
}

const aliases = { resources: "r", schedule: "s", resource_state: "t" }

const selectList = (columns: ReadonlyArray<StoredColumn>): string =>
  columns.map(({ codec, field, name, table }) => `${codec.read(`${aliases[table]}.${name}`)} as "${field}"`).join(", ")

/** Columns of a `ProfileRow` from `resourceTables`. */
export const profileSelect = selectList(profileColumns)

/** Resources `r` with their rows in `schedule` and `resource_state`. */
export const resourceTables =
  `resources r join schedule s on s.resource_id = r.id join resource_state t on t.resource_id = r.id`

/** The whole state of resources `r`; `$1` is now, epoch ms. */
export const selectResources = `
select r.id::float8 as id, r.url, r.host, r.partition, ${profileSelect}, ${selectList(innerColumns)},
  (select count(*) from (select from subscriptions u where u.resource_id = r.id
  and ${isLive("u")} limit ${maxCountedSubscribers}) counted)::int4 as subscribers,
  ${hasRow(`subscriptions u where u.resource_id = r.id and u.face = 1 and ${isLive("u")}`)} as on_hub,
  ${hasRow("subscriptions u where u.resource_id = r.id and u.face = 0")} as of_accounts
from ${resourceTables}`

/** Assigns field by field, because a list makes hundreds of profiles. */
const assign = <F extends string>(
  target: object,
  columns: ReadonlyArray<StoredColumn & { readonly field: F }>,
  row: { readonly [field in F]: unknown }
) => {
  const fields: Record<string, unknown> = target as never
  for (const { codec, field } of columns) {
    const value = row[field]
    if (value !== null) fields[field] = codec.decode(value as never)
  }
}

export const profileOf = (id: number, row: ProfileRow): ResourceProfile => {
  const profile = { id }
  assign(profile, profileColumns, row)
  return profile as ResourceProfile
}

export const resourceOf = (row: ResourceRow): ResourceState => {
  const { host, id, of_accounts, on_hub, partition, subscribers, url } = row
  const hub = { ...(on_hub && { hasHubSubscribers: true }), ...(on_hub && !of_accounts && { strangersOnly: true }) }
  const state = { id, url, host, partition, subscribers, ...hub }
  assign(state, profileColumns, row)
  assign(state, innerColumns, row)
  return state as ResourceState
}
