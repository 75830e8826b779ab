import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import type { PingedTopic } from "#domain/ports/ResourceStore.ts"
import { batched, rowsOfInputs } from "./Batched.ts"
import { hasRow, isLive } from "./Conditions.ts"
import { run } from "./Query.ts"
import { column, urlKey } from "./Values.ts"

const isWatched = hasRow(`subscriptions u where u.resource_id = r.id and ${isLive("u")}`)

/** A resource that a ping reaches. */
export interface PingedRow {
  /** Index of the topic, from 1. */
  readonly position: number
  readonly id: number
  readonly fragment: boolean
  readonly watched: boolean
}

/** SQL expression: the resource of each topic of `p`, and its watched fragments, at most `p.max_fragments`. The time is `$1`. */
export const pingedResources = `(
    (
      select r.id, false as fragment, ${isWatched} as watched from resources r
      where r.key = ${urlKey("p.topic")} and r.url = p.topic
    )
    union all
    (
      select r.id, true, true from resources r
      where md5(split_part(r.url, '#', 1)) = md5(p.topic) and r.url like '%#%' and split_part(r.url, '#', 1) = p.topic
        and ${isWatched}
      order by r.id limit p.max_fragments
    )
  )`

const pingedSql = `
  select p.position::float8 as position, f.id::float8 as id, f.fragment, f.watched
  from unnest($2::text[], $3::int4[]) with ordinality p(topic, max_fragments, position)
  cross join lateral ${pingedResources} f
  order by p.position, f.id`

export const makeFindPinged = (sql: SqlClient.SqlClient) => {
  const find = batched<{ readonly topic: string; readonly maxFragments: number }, PingedTopic>({
    maxInputs: 500,
    run: Effect.fnUntraced(function*(topics) {
      const rows = yield* run(sql.unsafe<PingedRow>(pingedSql, [
        yield* Clock.currentTimeMillis,
        column.texts(topics.map(({ topic }) => topic)),
        column.integers(topics.map(({ maxFragments }) => maxFragments))
      ]))
      return rowsOfInputs(rows, topics).map(pingedTopicOf)
    })
  })
  return Effect.fnUntraced(function*(topic: string, maxFragments: number) {
    if (topic.includes("\u0000")) return { fragments: [] } // the server would reject the statement
    return yield* find({ topic, maxFragments })
  })
}

export const pingedTopicOf = (rows: ReadonlyArray<PingedRow>): PingedTopic => {
  const own = rows.find(({ fragment }) => !fragment)
  return {
    ...(own !== undefined && { resource: { id: own.id, isWatched: own.watched } }),
    fragments: rows.filter(({ fragment }) => fragment).map(({ id }) => id)
  }
}
