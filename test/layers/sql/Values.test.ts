import { assert, describe, layer } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { instant, millis } from "#layers/sql/Values.ts"
import { engines } from "#test/support/Databases.ts"

/** The same by exact decimals. */
const exactMillis = "round(extract(epoch from at) * 1000)::float8"

describe.each(engines)("Values on $name", ({ available, layer: database }) => {
  describe.skipIf(!available)("millis", () => {
    layer(database)((it) => {
      it.effect("rounds microseconds of this time as exact decimals do, ties upwards", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const [row] = yield* sql.unsafe<{ rows: number; different: number }>(
            `select count(*)::float8 as rows, count(*) filter (where ${
              millis("at")
            } is distinct from ${exactMillis})::float8 as different
            from (
              select timestamptz '1970-01-01 00:00:00Z' + day * interval '1 day' + n * interval '1 microsecond' as at
              from generate_series(0, 73000, 365) day, generate_series(0, 2500, 125) n
            ) times`
          )
          assert.deepStrictEqual(row, { rows: 201 * 21, different: 0 })
        }))

      it.effect("returns the whole milliseconds that were stored, of any year", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const stored = [
            -210_866_803_200_000,
            -62_135_596_800_001,
            -1,
            0,
            1,
            999,
            1_795_000_000_123,
            99_999_999_999_999,
            1e14,
            2_000_000_000_000_001
          ]
          const rows = yield* sql.unsafe<{ given: number; read: number }>(
            `select given, ${millis(instant("given"))} as read from unnest($1::float8[]) given`,
            [`{${stored.join(",")}}`]
          )
          assert.deepStrictEqual(rows.map(({ read }) => read), rows.map(({ given }) => given))
        }))

      it.effect("keeps null and the infinite times", () =>
        Effect.gen(function*() {
          const sql = yield* SqlClient.SqlClient
          const rows = yield* sql.unsafe<{ read: number | null }>(
            `select ${millis("at::timestamptz")} as read from unnest(array[null, 'infinity', '-infinity']) at`
          )
          assert.deepStrictEqual(rows.map(({ read }) => read), [null, Infinity, -Infinity])
        }))
    })
  })
})
