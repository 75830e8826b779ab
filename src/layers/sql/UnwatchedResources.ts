import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { column, instant } from "./Values.ts"

/** Rows of one kind that one deletion of resources takes, at most. */
const maxRows = 2_000

/** Condition: no subscription of resource `r` is stored. */
const hasNoSubscription = `not exists (select from subscriptions u where u.resource_id = r.id)`

/** Notes that a resource has an active subscription. */
export const markWatched = (sql: SqlClient.SqlClient, resourceId: number) =>
  sql.unsafe(
    `update resources set unwatched_since = null where id = $1::int8 and unwatched_since is not null`,
    [BigInt(resourceId)]
  )

/** Takes back `markWatched` for a resource that was created together with the subscription, at `createdAt`. */
export const unmarkWatched = (sql: SqlClient.SqlClient, resourceId: number, createdAt: string) =>
  sql.unsafe(
    `update resources r set unwatched_since = '-infinity'
    where id = $1::int8 and created_at = $2::timestamptz and ${hasNoSubscription}`,
    [BigInt(resourceId), createdAt]
  )

/**
 * Notes that resources have lost their last subscription, and deletes the ones that never had an active subscription.
 *
 * A locked resource is getting a subscription. The retention looks at such a resource again.
 */
export const settleUnwatched = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, resourceIds: ReadonlyArray<number>, now: number) {
    yield* sql.unsafe(
      `update resources r set unwatched_since = ${instant("$2::float8")}
      where id = any($1::int8[]) and unwatched_since is null and ${hasNoSubscription}`,
      [column.ids(resourceIds), now]
    )
    const rows = yield* sql.unsafe<{ id: number }>(
      `select r.id::float8 as id from resources r
      where id = any($1::int8[]) and unwatched_since = '-infinity' and ${hasNoSubscription}`,
      [column.ids(resourceIds)]
    )
    if (rows.length > 0) yield* deleteUnwatched(sql, rows.map(({ id }) => id))
  }
)

/**
 * Corrects the notes of a partition: subscriptions also end with their account, and concurrent transactions miss each other.
 *
 * At most `limit` resources of each kind per call.
 */
export const correctUnwatched = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, partition: number, now: number, limit: number) {
    yield* sql.unsafe(
      `update resources set unwatched_since = ${instant("$2::float8")} where id = any(array(
        select r.id from resources r where r.partition = $1::int2 and r.unwatched_since is null and ${hasNoSubscription}
        limit $3::int4 for no key update skip locked
      ))`,
      [partition, now, limit]
    )
    yield* sql.unsafe(
      `update resources set unwatched_since = null where id = any(array(
        select r.id from resources r where r.partition = $1::int2 and r.unwatched_since is not null
          and exists (select from subscriptions u where u.resource_id = r.id and u.state = 1)
        limit $2::int4 for no key update skip locked
      ))`,
      [partition, limit]
    )
  }
)

/** Resources of a partition that have had no subscription since before `before` (epoch ms), at most `limit`, longest first. */
export const selectUnwatched = (sql: SqlClient.SqlClient, partition: number, before: number, limit: number) =>
  sql.unsafe<{ id: number }>(
    `select r.id::float8 as id from resources r
    where r.partition = $1::int2 and r.unwatched_since < ${instant("$2::float8")} and ${hasNoSubscription}
    order by r.unwatched_since limit $3::int4`,
    [partition, before, limit]
  )

/**
 * Deletes resources with their entries and notifications, oldest first, in a transaction of the caller. Returns the deleted ids.
 *
 * A resource with more than 2,000 entries or notifications loses these first, and is deleted by a later call.
 * The lock comes before the check, so that a new subscription keeps its resource, and a later one creates a new resource.
 */
export const deleteUnwatched = Effect.fnUntraced(
  function*(sql: SqlClient.SqlClient, resourceIds: ReadonlyArray<number>) {
    const locked = yield* sql.unsafe<{ id: number }>(
      `select id::float8 as id from resources where id = any($1::int8[]) order by id for update skip locked`,
      [column.ids(resourceIds)]
    )
    const unwatched = yield* sql.unsafe<{ id: number }>(
      `select r.id::float8 as id from resources r where id = any($1::int8[]) and ${hasNoSubscription}`,
      [column.ids(locked.map(({ id }) => id))]
    )
    if (unwatched.length === 0) return []
    const ids = column.ids(unwatched.map(({ id }) => id))
    // A poll that is about to record waits for this lock, and then finds no resource.
    yield* sql.unsafe(
      `select 1 from resource_state where resource_id = any($1::int8[]) order by resource_id for update`,
      [ids]
    )
    const entries = yield* sql.unsafe(
      `delete from entries where (resource_id, seq) in (
        select resource_id, seq from entries where resource_id = any($1::int8[]) order by resource_id, seq limit ${maxRows}
      ) returning 1`,
      [ids]
    )
    const notifications = yield* sql.unsafe(
      `delete from notifications where id = any(array(
        select id from notifications where resource_id = any($1::int8[]) order by resource_id, sequence limit ${maxRows}
      )) returning 1`,
      [ids]
    )
    if (entries.length === maxRows || notifications.length === maxRows) return []
    yield* sql.unsafe(`delete from resources where id = any($1::int8[])`, [ids])
    return unwatched.map(({ id }) => id)
  }
)
