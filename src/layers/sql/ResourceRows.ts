import { maxAskers, maxCountedSubscribers, type ResourceProfile, type ResourceState } from "#domain/poll/Resource.ts"
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
  /** Of the live subscriptions on the hub face; null without any. Empty where an asker is unknown, or for many askers. */
  readonly askers: ReadonlyArray<string> | null
  readonly of_accounts: boolean
}

const aliases = { resources: "r", schedule: "s", resource_state: "t" }

const selectList = (columns: ReadonlyArray<StoredColumn>): string =>
  columns.map(({ codec, field, name, table }) => `${codec.read(`${aliases[table]}.${name}`)} as "${field}"`).join(", ")

/** Columns of a `ProfileRow` from `resourceTables`. */
export const profileSelect = selectList(profileColumns)

/** The columns of a brief list, all of `resources`. */
const briefColumns = profileColumns.filter(({ field }) => field === "header" || field === "kind")

export type BriefProfileRow = Pick<ProfileRow, "kind" | "header">

/** The columns of a `BriefProfileRow` from resources `r`, without names. */
export const briefProfileContent: ReadonlyArray<string> = briefColumns.map(({ name }) => `r.${name}`)

/** Columns of a `BriefProfileRow` from resources `r`. */
export const briefProfileSelect = selectList(briefColumns)

/** Resources `r` with their rows in `schedule` and `resource_state`. */
export const resourceTables =
  `resources r join schedule s on s.resource_id = r.id join resource_state t on t.resource_id = r.id`

/** The whole state of resources `r`; `$1` is now, epoch ms. */
export const selectResources = `
select r.id::float8 as id, r.url, r.host, r.partition, ${profileSelect}, ${selectList(innerColumns)},
  (select count(*) from (select from subscriptions u where u.resource_id = r.id
  and ${isLive("u")} limit ${maxCountedSubscribers}) counted)::int4 as subscribers,
  (select case when count(*) < ${maxCountedSubscribers} and count(asker) = count(*) and count(distinct asker) <= ${maxAskers}
    then array_agg(distinct asker) else '{}' end
  from (select u.asker from subscriptions u where u.resource_id = r.id and u.face = 1 and ${
  isLive("u")
} limit ${maxCountedSubscribers}) asking having count(*) > 0) as askers,
  ${hasRow("subscriptions u where u.resource_id = r.id and u.face = 0")} as of_accounts
from ${resourceTables}`

/** Assigns field by field, because a list makes hundreds of profiles. */
const assign = <F extends string>(
  target: object,
  columns: ReadonlyArray<StoredColumn & { readonly field: F }>,
  row: { readonly [field in F]?: unknown }
) => {
  const fields: Record<string, unknown> = target as never
  for (const { codec, field } of columns) {
    const value = row[field]
    if (value !== null) fields[field] = codec.decode(value as never)
  }
}

export const briefProfileOf = (row: BriefProfileRow): Pick<ResourceProfile, "kind" | "header"> => {
  const profile = {}
  assign(profile, briefColumns, row)
  return profile as Pick<ResourceProfile, "kind" | "header">
}

export const profileOf = (id: number, row: ProfileRow): ResourceProfile => {
  const profile = { id }
  assign(profile, profileColumns, row)
  return profile as ResourceProfile
}

export const resourceOf = (row: ResourceRow): ResourceState => {
  const { askers, host, id, of_accounts, partition, subscribers, url } = row
  const isOfStrangers = askers !== null && !of_accounts
  const state = {
    id,
    url,
    host,
    partition,
    subscribers,
    ...(askers !== null && { hasHubSubscribers: true }),
    ...(isOfStrangers && { strangersOnly: true }),
    ...(isOfStrangers && askers.length > 0 && { askers })
  }
  assign(state, profileColumns, row)
  assign(state, innerColumns, row)
  return state as ResourceState
}
