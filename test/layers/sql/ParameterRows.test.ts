import { assert, describe, it } from "@effect/vitest"
import { parameterColumn, subscriptOf, subscriptsOf } from "#layers/sql/ParameterRows.ts"
import { recordSql } from "#layers/sql/RecordStatement.ts"
import { column } from "#layers/sql/Values.ts"

interface Row {
  readonly id: number
  readonly text: string
}

const columns = [
  parameterColumn("id", "int8", column.ids, ({ id }: Row) => id),
  parameterColumn("text", "text", column.texts, ({ text }: Row) => text)
]

const words = (sql: string): string => sql.replace(/\s+/g, " ").trim()

describe("ParameterRows", () => {
  it("selects the columns by subscript", () => {
    assert.strictEqual(
      words(subscriptsOf(columns, 2)),
      "( select key.id, ($3::text[])[key.position] as text from unnest($2::int8[]) with ordinality key(id, position) )"
    )
  })

  it("leaves columns apart, to be read by position", () => {
    assert.strictEqual(
      words(subscriptsOf(columns, 2, ["text"])),
      "( select key.id, key.position from unnest($2::int8[]) with ordinality key(id, position) )"
    )
    assert.strictEqual(subscriptOf(columns, 2, "text", "q.position"), "($3::text[])[q.position]")
  })

  it("keeps documents out of the rows of the record statement, which would copy them", () => {
    const rows = recordSql.full.slice(0, recordSql.full.indexOf("s0 as ("))
    assert.notInclude(rows, "bytea[])[key.position] as document")
    assert.notInclude(rows, "bytea[])[key.position] as whole,")
    assert.include(recordSql.full, "bytea[])[q.position]")
  })
})
