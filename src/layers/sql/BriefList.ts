import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { BriefItem, BriefQuery } from "#domain/ports/SubscriptionStore.ts"
import { rowsOfInputs, sharedReads } from "./Batched.ts"
import { run } from "./Query.ts"
import { briefProfileContent, briefProfileOf, type BriefProfileRow, briefProfileSelect } from "./ResourceRows.ts"
import { makeVersionMemory, type VersionedValue, versionOf } from "./RowVersions.ts"
import type { Box } from "./SecretBox.ts"
import { pageOf, selectPage } from "./SubscriptionLists.ts"
import { briefContent, briefOf, type BriefRow, briefSelect } from "./SubscriptionRows.ts"
import { column } from "./Values.ts"

interface BriefItemRow extends BriefRow, BriefProfileRow {}

/** The page of a brief list. The first pages of accounts share a statement; a later page and a search have their own. */
export const listBriefly = (sql: SqlClient.SqlClient, genericSql: SqlClient.SqlClient, box: Box) => {
  const readFirst = makeReadFirst(genericSql, box)
  const select = (condition: string, parameters: ReadonlyArray<unknown>) =>
    Effect.map(
      run(genericSql.unsafe<BriefItemRow>(selectBriefs(condition), parameters)),
      (rows) => rows.map(itemOf(box))
    )
  return Effect.fnUntraced(function*(query: BriefQuery) {
    const { accountId, byPage, page, search } = query
    const offset = (page - 1) * byPage
    if (search !== undefined) {
      const { ids } = yield* selectPage(sql, { accountId, search }, offset, byPage)
      return yield* select("id = any($1::int8[])", [column.ids(ids)])
    }
    if (offset + byPage <= maxSharedPosition) return yield* readFirst({ accountId, offset, byPage })
    return yield* select(pageOf("asc", false), [accountId, BigInt(offset), BigInt(byPage)])
  })
}

/** Last subscription of a page that shares its statement. A later page has to pass many rows, and would hold up the others. */
const maxSharedPosition = 100

interface FirstPage {
  readonly accountId: number
  readonly offset: number
  readonly byPage: number
}

interface FirstPageRow extends BriefItemRow {
  readonly position: number
  /** Of the whole page; null for an empty one. An empty or unchanged page is one row, whose other columns are null. */
  readonly version: bigint | null
}

/** Maximum of characters of the lists that stay in memory. Clients mostly read unchanged lists again. */
const maxListsLength = 512 * 1024

/** A list counts as many characters at least: rendered texts are attached to it, up to 64 kB each with and without secrets. At most 128 stay. */
const minListLength = maxListsLength / 128

const makeReadFirst = (sql: SqlClient.SqlClient, box: Box) => {
  const memory = makeVersionMemory<ReadonlyArray<BriefItem>>(maxListsLength, minListLength)
  const keyOf = ({ accountId, byPage, offset }: FirstPage) => `${accountId} ${offset} ${byPage}`
  const itemsOf = (
    rows: ReadonlyArray<FirstPageRow>,
    page: FirstPage,
    known: VersionedValue<ReadonlyArray<BriefItem>> | undefined
  ): ReadonlyArray<BriefItem> => {
    const version = rows[0]?.version ?? null
    if (version === null) return []
    if (version === known?.version) return known.value
    const value = rows.map(itemOf(box))
    memory.keep(keyOf(page), { version, value }, rows.reduce((sum, row) => sum + lengthOf(row), 0))
    return value
  }
  return sharedReads<FirstPage, ReadonlyArray<BriefItem>>({
    keyOf,
    maxInputs: 32,
    run: Effect.fnUntraced(function*(pages) {
      const known = pages.map((page) => memory.get(keyOf(page)))
      const rows = yield* run(sql.unsafe<FirstPageRow>(firstPagesSql, [
        column.integers(pages.map(({ accountId }) => accountId)),
        column.ids(pages.map(({ offset }) => offset)),
        column.ids(pages.map(({ byPage }) => byPage)),
        column.versions(known.map((page) => page?.version))
      ]))
      const own = rowsOfInputs(rows, pages)
      return pages.map((page, i) => itemsOf(own[i] ?? [], page, known[i]))
    })
  })
}

/** Characters of the names and signs of an item in JSON, and more than those of its object. */
const itemLength = 256

/** Characters of an item in memory, about. */
const lengthOf = ({ endpoint, header, secret, topic }: BriefItemRow): number =>
  itemLength + topic.length + endpoint.length + (secret?.length ?? 0) + (typeof header === "string" ? header.length : 0)

const itemOf = (box: Box) => (row: BriefItemRow): BriefItem => ({
  subscription: briefOf(box)(row),
  resource: briefProfileOf(row)
})

/** `limit 1` makes the join a look-up per row: a kept plan knows neither how many subscriptions exist nor how few are wanted. */
const joinResource = "cross join lateral (select * from resources where id = u.resource_id limit 1) r"

/** The subscriptions that match a condition, oldest first, with their resources. */
const selectBriefs = (condition: string): string => `
select ${briefSelect}, ${briefProfileSelect}
from (select * from subscriptions where ${condition}) u ${joinResource} order by u.id`

const pageOfAccount = `from subscriptions where account_id >= wanted.account and account_id <= wanted.account
    order by account_id, id offset wanted.skipped limit wanted.size`

/**
 * Pages of accounts ($1), each with its offset ($2) and its size ($3); see `pageOf`. A page with the version that the reader has ($4) comes
 * without its subscriptions: because of `offset 0`, the comparison is made once, before these are read.
 *
 * The version is that of the contents: each delivery writes its subscription, and each changed poll its resource, mostly with the same contents.
 */
export const firstPagesSql = `
select wanted.position::float8 as position, present.version, changed.*
from unnest($1::int4[], $2::int8[], $3::int8[], $4::int8[]) with ordinality wanted(account, skipped, size, known, position)
cross join lateral (
  select ${
  versionOf("u.id", [...briefContent, ...briefProfileContent])
} as version from (select * ${pageOfAccount}) u ${joinResource}
) present
left join lateral (
  select u.id, ${briefSelect}, ${briefProfileSelect} from (select * ${pageOfAccount}) u ${joinResource}
  where present.version is distinct from wanted.known offset 0
) changed on true
order by wanted.position, changed.id`
