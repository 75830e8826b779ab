import { Context, Effect } from "effect"
import { SqlClient } from "effect/sql"

/**
 * Startup parameters of a connection for statements whose best plan is the same for all values.
 *
 * By default PostgreSQL compares the estimated costs of a plan for the values with those of a generic plan. A short array looks cheaper
 * than an array of unknown length, so that the planning is repeated for each execution. It takes longer than the execution.
 *
 * A plan is kept while the tables grow, until a statistic changes: a server analyzes a growing table within a minute, and the embedded
 * database discards all plans once a minute. A plan over empty tables would be a sequential scan, hence none of these. Their estimated costs
 * would start the compiler of PostgreSQL, which takes a hundred times as long as these statements.
 */
export const genericPlans = { plan_cache_mode: "force_generic_plan", enable_seqscan: "off", jit: "off" } as const

/** The client of such connections. Undefined where all statements share one client. */
export const GenericPlanClient = Context.Reference<SqlClient.SqlClient | undefined>(
  "windhover/layers/sql/GenericPlans/GenericPlanClient",
  { defaultValue: () => undefined }
)

/** The client for the statements of polls, pings and deliveries. Searches need plans for their values and use `SqlClient`. */
export const sqlWithGenericPlans = Effect.flatMap(
  GenericPlanClient,
  (client) => client === undefined ? SqlClient.SqlClient : Effect.succeed(client)
)
