import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import { NotificationLog, type NumberedNotification } from "#domain/ports/NotificationLog.ts"
import { batched } from "./Batched.ts"
import { notificationColumns, notificationOf, type NotificationRow } from "./NotificationRows.ts"
import { column } from "./Values.ts"
import { run } from "./Query.ts"

interface Question {
  readonly resourceId: number
  readonly sequence: number
  readonly limit: number
}

interface NumberedRow extends NotificationRow {
  readonly sequence: number
  /** Which question it answers, from 1. */
  readonly question: number
}

export const layer = Layer.effect(
  NotificationLog,
  Effect.gen(function*() {
    const sql = yield* SqlClient.SqlClient

    const heads = Effect.fn("NotificationLog.heads")(function*(resourceIds: ReadonlyArray<number>) {
      const rows = yield* run(sql.unsafe<{ id: number; sequence: number }>(
        `select resource_id::float8 as id, sequence::float8 as sequence from resource_state where resource_id = any($1::int8[])`,
        [column.ids(resourceIds)]
      ))
      const byId = new Map(rows.map(({ id, sequence }) => [id, sequence]))
      return resourceIds.map((id) => byId.get(id) ?? 0)
    })

    const after = batched<Question, ReadonlyArray<NumberedNotification>>({
      spacing: 2,
      max: 500,
      run: Effect.fnUntraced(function*(asked) {
        // many listeners of one resource ask the same
        const questions = [...new Map(asked.map((question) => [keyOf(question), question])).values()]
        const rows = yield* run(sql.unsafe<NumberedRow>(
          `select wanted.question::int4 as question, n.sequence::float8 as sequence, ${notificationColumns}
          from unnest($1::int8[], $2::int8[], $3::int4[]) with ordinality wanted(id, behind, most, question) cross join lateral (
            select * from notifications n where n.resource_id = wanted.id and n.sequence > wanted.behind
            order by n.sequence limit wanted.most
          ) n order by wanted.question, n.sequence`,
          [
            column.ids(questions.map(({ resourceId }) => resourceId)),
            column.ids(questions.map(({ sequence }) => sequence)),
            column.integers(questions.map(({ limit }) => limit))
          ]
        ))
        const answers = new Map(
          questions.map((question): [string, Array<NumberedNotification>] => [keyOf(question), []])
        )
        for (const row of rows) {
          const question = questions[row.question - 1]
          if (question === undefined) continue
          answers.get(keyOf(question))?.push({ sequence: row.sequence, notification: notificationOf(row) })
        }
        return asked.map((question) => answers.get(keyOf(question)) ?? [])
      })
    })

    return NotificationLog.of({
      heads,
      readAfter: (resourceId, sequence, limit) => after({ resourceId, sequence, limit })
    })
  })
)

const keyOf = ({ limit, resourceId, sequence }: Question): string => `${resourceId} ${sequence} ${limit}`
