/**
 * `windhover serve` with a probe: answers each message of its parent with the work since the message before.
 *
 * The polls have no random part, so that their number is the same in each run.
 */
import { NodeRuntime } from "@effect/platform-node"
import { Effect, Layer, References } from "effect"
import { SqlClient } from "effect/sql"
import { startProbe } from "./Probe.ts"

const probe = startProbe()
const Database = await import("#layers/postgres/Database.ts")
const Settings = await import("#layers/Settings.ts")
const SteadyClock = await import("#layers/SteadyClock.ts")
const { Jitter } = await import("#actors/resource/ResourceLayer.ts")
const { layer } = await import("#main/main.ts")

/** Bytes of the write-ahead log. */
const readWritten = SqlClient.SqlClient.use((sql) =>
  Effect.map(
    sql<{ written: number }>`select (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 as written`,
    ([row]) => row?.written ?? 0
  )
)

const answers = Layer.effectDiscard(Effect.gen(function*() {
  let writtenBefore = yield* readWritten
  const read = Effect.gen(function*() {
    const reading = probe.read()
    const written = yield* readWritten
    process.send?.({ ...reading, writtenBytes: written - writtenBefore })
    writtenBefore = written
    probe.reset()
  })
  const runPromise = Effect.runPromiseWith(yield* Effect.context<SqlClient.SqlClient>())
  process.on("message", () => void runPromise(read))
}))

process.once("disconnect", () => process.exit(0))
Layer.merge(layer, answers).pipe(
  Layer.provide(Layer.succeed(Jitter, () => 0)),
  Layer.provide(Database.layer),
  Layer.provide(SteadyClock.layer),
  Layer.provide(Layer.succeed(References.TracerEnabled, false)),
  Layer.provide(Layer.succeed(References.MinimumLogLevel, "Error")),
  Layer.provide(Settings.layer),
  Layer.launch,
  NodeRuntime.runMain
)
