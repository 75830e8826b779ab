import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { BriefItem, BriefQuery } from "#domain/ports/SubscriptionStore.ts"
import { rowsOfInputs, sharedReads } from "./Batched.ts"
import { run } from "./Query.ts"
import { briefProfileOf, type BriefProfileRow, briefProfileSelect } from "./ResourceRows.ts"
import type { Box } from "./SecretBox.ts"
import { pageOf, selectPage } from "./SubscriptionLists.ts"
import { briefOf, type BriefRow, briefSelect } from "./SubscriptionRows.ts"
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

const makeReadFirst = (sql: SqlClient.SqlClient, box: Box) =>
  sharedReads<FirstPage, ReadonlyArray<BriefItem>>({
    keyOf: ({ accountId, byPage, offset }) => `${accountId} ${offset} ${byPage}`,
    maxInputs: 32,
    run: Effect.fnUntraced(function*(pages) {
      const rows = yield* run(sql.unsafe<BriefItemRow & { readonly position: number }>(firstPagesSql, [
        column.integers(pages.map(({ accountId }) => accountId)),
        column.ids(pages.map(({ offset }) => offset)),
        column.ids(pages.map(({ byPage }) => byPage))
      ]))
      return rowsOfInputs(rows, pages).map((own) => own.map(itemOf(box)))
    })
  })

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

/** Pages of accounts ($1), each with its offset ($2) and its size ($3); see `pageOf`. */
const firstPagesSql = `
select wanted.position::float8 as position, ${briefSelect}, ${briefProfileSelect}
from unnest($1::int4[], $2::int8[], $3::int8[]) with ordinality wanted(account, skipped, size, position)
cross join lateral (
  select * from subscriptions where account_id >= wanted.account and account_id <= wanted.account
  order by account_id, id offset wanted.skipped limit wanted.size
) u ${joinResource}
order by wanted.position, u.id`
