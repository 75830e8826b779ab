import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import {
  type DeliveryPage,
  type DeliveryQuery,
  firstPositionAt,
  type LoggedAttempt,
  type LoggedDenial,
  maxRecorded,
  parseLogId,
  parsePosition
} from "#domain/delivery/DeliveryLogEntry.ts"
import {
  attemptOf,
  type AttemptRow,
  attemptSelect,
  endOf,
  type EndRow,
  endSelect,
  exactResults,
  resultCondition
} from "./DeliveryLogRows.ts"
import { run } from "./Query.ts"
import { urlKey } from "./Values.ts"

/** Rows that one page looks through when its index does not serve all filters: those of a topic and a host together. */
const maxScanned = 1_000

/** Rows of a subscription, at most. */
const maxOfSubscription = 2 * maxRecorded

/** Reads a page of the log, see `DeliveryLog.list`. */
export const listDeliveries = (sql: SqlClient.SqlClient) =>
  Effect.fn("DeliveryLog.list")(function*(query: DeliveryQuery) {
    const attempts = yield* selectAttempts(sql, query)
    const ends = yield* selectEnds(sql, query, attempts.scannedTo)
    return pageOf(query.limit, [...attempts.events, ...ends], attempts.scannedTo)
  })

type LogEvent = LoggedAttempt | LoggedDenial

/** `scannedTo`: the position at which the scan stopped; undefined when it has seen all attempts. */
const pageOf = (limit: number, events: ReadonlyArray<LogEvent>, scannedTo: string | undefined): DeliveryPage => {
  const newestFirst = events.map((event) => ({ event, position: parseLogId(event.id)?.position ?? 0n }))
    .toSorted((a, b) => a.position < b.position ? 1 : -1)
  const items = newestFirst.slice(0, limit).map(({ event }) => event)
  if (newestFirst.length > limit) return { items, next: String(newestFirst[limit - 1]?.position) }
  return scannedTo === undefined ? { items } : { items, next: scannedTo }
}

/** Collects the parameters of a statement. */
const makeParameters = () => {
  const values: Array<string | number | bigint | null> = []
  const add = (value: string | number | bigint, type: string) => `$${values.push(value)}::${type}`
  return { values, add }
}

type Add = ReturnType<typeof makeParameters>["add"]

/** Conditions on the positions of `alias`, by the times and the start of the page. */
const rangeConditions = ({ after, from, to }: DeliveryQuery, alias: string, add: Add): ReadonlyArray<string> => {
  const below = [
    ...(to === undefined ? [] : [firstPositionAt(to)]),
    ...(after === undefined ? [] : [parsePosition(after) ?? 0n])
  ]
  return [
    ...below.map((position) => `${alias}.id < ${add(position, "int8")}`),
    ...(from === undefined ? [] : [`${alias}.id >= ${add(firstPositionAt(from), "int8")}`])
  ]
}

interface ScanRow extends AttemptRow {
  readonly scanned: number
  readonly last: string | null
  readonly found: boolean
}

const selectAttempts = Effect.fnUntraced(function*(sql: SqlClient.SqlClient, query: DeliveryQuery) {
  if (resultCondition(query, "l.result") === undefined) return { events: [], scannedTo: undefined }
  const { add, values } = makeParameters()
  const scan = scanOf(query, add)
  const rows = yield* run(
    sql.unsafe<ScanRow>(
      `with recursive ${scan.kinds}scanned as materialized (
      ${scan.select} order by l.id desc limit ${scan.limit}
    )
    select s.scanned, s.last, t.id is not null as found, t.* from (select count(*)::int4 as scanned, min(id)::text as last from scanned) s
    left join lateral (
      select ${attemptSelect}, l.id as position from scanned c
      join delivery_log l on l.subscription_id = c.subscription_id and l.slot = c.slot
      left join subscriptions u on u.id = l.subscription_id
      where ${["true", ...scan.residual].join(" and ")} order by l.id desc limit ${query.limit + 1}
    ) t on true order by t.position desc`,
      values
    ).unprepared
  )
  const [first] = rows
  const events = rows.flatMap((row) =>
    row.found && row.topic !== null && (query.host === undefined || row.host === query.host) ? [attemptOf(row)] : []
  )
  return { events, scannedTo: first?.scanned === scan.limit ? first.last ?? undefined : undefined }
})

interface Scan {
  /** Further relations of the statement. */
  readonly kinds: string
  readonly select: string
  readonly limit: number
  /** Conditions that the index of the scan does not serve. */
  readonly residual: ReadonlyArray<string>
}

/** A constant, because the planner takes an unknown limit for a tenth of all rows. */
const headsPerKind = 4

const scannedColumns = "l.subscription_id, l.slot, l.id"

/** The scan by the most selective filter. */
const scanOf = (query: DeliveryQuery, add: Add): Scan => {
  const { accountId, host, subscriptionId, topic } = query
  const account = accountId === undefined ? undefined : add(accountId, "int4")
  const ranges = rangeConditions(query, "l", add)
  const byHost = host === undefined ? [] : [`l.host_key = hashtext(${add(host, "text")})`]
  const byTopic = topic === undefined ? [] : [resourceCondition(topic.canonical, add)]
  if (subscriptionId !== undefined) {
    const conditions = [
      `l.subscription_id = ${add(subscriptionId, "float8")}::int8`,
      ...(account === undefined ? [] : [`l.account_id = ${account}`]),
      ...ranges
    ]
    return {
      kinds: "",
      select: `select ${scannedColumns} from delivery_log l where ${conditions.join(" and ")}`,
      limit: maxOfSubscription + 1,
      residual: [...byTopic, ...byHost, resultCondition(query, "l.result") ?? "false"]
    }
  }
  const [prefix = [], ...others] = [byTopic, byHost].filter((conditions) => conditions.length > 0)
  const residual = others.flat()
  const limit = residual.length === 0 ? query.limit + 1 : maxScanned
  return { ...scanOfKinds(query, account, prefix, ranges, limit), limit, residual }
}

/**
 * The newest rows by account and result, which all indexes have in order of their positions. `prefix` are conditions on the columns of the
 * index between the account and the result.
 *
 * The heads are the first rows of each kind. When they fill a page, no row below the last of them belongs to the page, so that hundreds of
 * kinds cost few rows each.
 */
const scanOfKinds = (
  query: DeliveryQuery,
  account: string | undefined,
  prefix: ReadonlyArray<string>,
  ranges: ReadonlyArray<string>,
  limit: number
): Pick<Scan, "kinds" | "select"> => {
  const ofKind = ["l.account_id = k.account_id", ...prefix, "l.result = k.result", ...ranges].join(" and ")
  const isWanted = resultCondition(query, "k.result") ?? "false"
  return {
    kinds: `${kindsOf(account, prefix, exactResults(query))}, heads as materialized (
      select k.account_id, k.result, h.id from kinds k cross join lateral (
        select l.id from delivery_log l where ${ofKind} order by l.id desc limit ${headsPerKind}
      ) h where ${isWanted} order by h.id desc limit ${limit}
    ), `,
    select: `select ${scannedColumns} from (select distinct account_id, result from heads) k cross join lateral (
      select ${scannedColumns} from delivery_log l
      where ${ofKind} and l.id >= (select case count(*) when ${limit} then min(id) else 0 end from heads)
      order by l.id desc limit ${limit}
    ) l`
  }
}

/** The results that occur, by account: each step of the recursion looks up the next one in the index. */
const kindsOf = (
  account: string | undefined,
  prefix: ReadonlyArray<string>,
  exact: ReadonlyArray<number> | undefined
): string => {
  const logged = account === undefined ? loggedAccounts : `logged (id) as (select ${account})`
  if (exact !== undefined) {
    return `${logged}, kinds (account_id, result) as (
      select a.id, r.result from logged a cross join unnest(array[${
      exact.join(", ")
    }]::int2[]) r(result) where a.id is not null
    )`
  }
  return `${logged}, kinds (account_id, result) as (
    select a.id, f.result from logged a cross join lateral (
      select l.result from delivery_log l where ${
    ["l.account_id = a.id", ...prefix].join(" and ")
  } order by l.result limit 1
    ) f where a.id is not null
    union all
    select k.account_id, n.result from kinds k cross join lateral (
      select l.result from delivery_log l
      where ${["l.account_id = k.account_id", ...prefix, "l.result > k.result"].join(" and ")} order by l.result limit 1
    ) n
  )`
}

/** The accounts with attempts: each step looks up the next one in the index, because most accounts may have none. */
const loggedAccounts = `logged (id) as (
    (select l.account_id from delivery_log l order by l.account_id limit 1)
    union all
    select (select l.account_id from delivery_log l where l.account_id > a.id order by l.account_id limit 1) from logged a
    where a.id is not null
  )`

/** The resource of a topic; none for an unknown topic. */
const resourceCondition = (canonical: string, add: Add): string => {
  const url = add(canonical, "text")
  return `l.resource_id = (select r.id from resources r where r.key = ${urlKey(url)} and r.url = ${url})`
}

/** Ends and denials are few, so that any filter may look through all of them. None behind `scannedTo`, where the next page begins. */
const selectEnds = Effect.fnUntraced(function*(
  sql: SqlClient.SqlClient,
  query: DeliveryQuery,
  scannedTo: string | undefined
) {
  const { accountId, host, outcome, subscriptionId, topic } = query
  if (outcome !== undefined && outcome !== "ended" && outcome !== "denied") return []
  const { add, values } = makeParameters()
  const conditions = [
    ...(accountId === undefined ? [] : [`e.account_id = ${add(accountId, "int4")}`]),
    ...rangeConditions(query, "e", add),
    ...(scannedTo === undefined ? [] : [`e.id > ${add(BigInt(scannedTo), "int8")}`]),
    ...(outcome === undefined ? [] : [`e.subscription_id is ${outcome === "denied" ? "" : "not "}null`]),
    ...(subscriptionId === undefined ? [] : [`e.subscription_id = ${add(subscriptionId, "float8")}::int8`]),
    ...(host === undefined ? [] : [`e.host = ${add(host, "text")}`]),
    ...(topic === undefined ? [] : [`e.topic in (${add(topic.given, "text")}, ${add(topic.canonical, "text")})`]),
    resultCondition(query, "e.result", true) ?? "false"
  ]
  const rows = yield* run(
    sql.unsafe<EndRow>(
      `select ${endSelect} from subscription_ends e where ${conditions.join(" and ")} order by e.id desc limit ${
        query.limit + 1
      }`,
      values
    ).unprepared
  )
  return rows.map(endOf)
})
