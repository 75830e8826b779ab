import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { ExportPosition } from "#domain/ports/SubscriptionStore.ts"
import { run } from "./Query.ts"
import { profileOf, type ProfileRow, profileSelect, resourceTables } from "./ResourceRows.ts"
import type { Box } from "./SecretBox.ts"
import { subscriptionOf, type SubscriptionRow, subscriptionSelect } from "./SubscriptionRows.ts"

type ExportedRow = SubscriptionRow & ProfileRow

const selectExported = (condition: string, order: string): string => `
  select ${subscriptionSelect}, r.*
  from (
    select * from subscriptions where account_id = $1::int4 and face = 0 and state in (1, 2) and ${condition}
    order by ${order} limit $2::int4
  ) u
  cross join lateral (select ${profileSelect} from ${resourceTables} where r.id = u.resource_id limit 1) r
  order by ${order.replaceAll(/\b(?:labels|id)\b/g, "u.$&")}`

const unlabelledSql = selectExported("labels = '{}' and id > $3::int8", "id")

/** Walks the index of folders. */
const labelledSql = selectExported(
  `labels <> '{}' and (labels[1] collate "C", id) > ($4::text collate "C", $3::int8)`,
  `labels[1] collate "C", id`
)

/** A page never mixes both parts: the page behind the last subscription without labels begins with the labelled ones. */
export const exportPage = (sql: SqlClient.SqlClient, box: Box) =>
  Effect.fn("SubscriptionStore.exportPage")(
    function*(accountId: number, after: ExportPosition | undefined, limit: number) {
      const read = (statement: string, parameters: ReadonlyArray<unknown>) =>
        Effect.map(
          run(sql.unsafe<ExportedRow>(statement, [accountId, limit, ...parameters])),
          (rows) =>
            rows.map((row) => ({ subscription: subscriptionOf(box)(row), resource: profileOf(row.resource, row) }))
        )
      if (after?.folder !== undefined) return yield* read(labelledSql, [BigInt(after.id), after.folder])
      const unlabelled = yield* read(unlabelledSql, [BigInt(after?.id ?? 0)])
      return unlabelled.length > 0 ? unlabelled : yield* read(labelledSql, [0n, ""])
    }
  )
