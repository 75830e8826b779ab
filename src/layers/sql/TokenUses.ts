import { Clock, Effect } from "effect"
import type { SqlClient } from "effect/sql"
import { tokenUseMs } from "#domain/Account.ts"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import { batched } from "./Batched.ts"
import { run } from "./Query.ts"
import { column, instant } from "./Values.ts"

/** Tokens whose noted use this runner remembers. A forgotten one costs a statement without effect. */
const maxRemembered = 10_000

/** A token that has just been used, with the last noted use: epoch ms, `-Infinity` for none. */
interface TokenUse {
  readonly id: number
  readonly usedAt: number
}

export type NoteTokenUses = (uses: ReadonlyArray<TokenUse>) => Effect.Effect<void>

/**
 * Notes uses of tokens, at most one write a token within `tokenUseMs`, in batches and in the background: no request waits for the write, and
 * a failed one is tried again with the next use.
 */
export const makeTokenUses = Effect.fnUntraced(function*(sql: SqlClient.SqlClient) {
  const scope = yield* Effect.scope
  /** Epoch ms of the last write by this runner. */
  const written = new BoundedMap<number, number>(maxRemembered)
  const write = batched({
    concurrency: 1,
    maxInputs: 500,
    run: Effect.fnUntraced(function*(ids: ReadonlyArray<number>) {
      const now = yield* Clock.currentTimeMillis
      yield* run(sql.unsafe(
        `update tokens set used_at = ${instant("$2::float8")}
        where id = any($1::int4[]) and coalesce(used_at, '-infinity') <= ${instant(`$2::float8 - ${tokenUseMs}`)}`,
        [column.integers(ids), now]
      ))
      return ids.map(() => true)
    })
  })

  return (uses: ReadonlyArray<TokenUse>): Effect.Effect<void> =>
    uses.length === 0 ? Effect.void : Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const isRecent = (at: number) => now - at < tokenUseMs
      for (const { id, usedAt } of uses) {
        if (isRecent(usedAt) || isRecent(written.get(id) ?? -Infinity)) continue
        written.set(id, now)
        const retryLater = Effect.sync(() => void written.delete(id))
        yield* Effect.forkIn(Effect.catchTag(write(id), "StoreError", () => retryLater), scope)
      }
    })
})
