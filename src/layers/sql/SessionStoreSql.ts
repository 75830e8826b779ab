import { Clock, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { type NewSession, SessionStore } from "#domain/ports/SessionStore.ts"
import { maxAgeMs, maxIdleMs, maxSessions, type Session } from "#domain/Session.ts"
import { minuteMs } from "#domain/Time.ts"
import { run } from "./Query.ts"
import { column, instant, legalText, millis } from "./Values.ts"

interface SessionRow {
  readonly id: number
  readonly account: number
  readonly credential: string
  readonly created: number
  readonly used: number
  readonly address: string
  readonly agent: string
}

/** Columns of a `SessionRow` from sessions `s`. */
const sessionSelect = `s.id, s.account_id as account, s.credential, s.address, s.agent, ${
  millis("s.created_at")
} as created, ${millis("s.used_at")} as used`

const sessionOf = (row: SessionRow): Session => ({
  id: row.id,
  accountId: row.account,
  credential: row.credential,
  createdAt: row.created,
  usedAt: row.used,
  address: row.address,
  agent: row.agent
})

/** SQL condition: session `s` has not ended at the epoch ms of the expression. */
const isOpen = (now: string) =>
  `s.used_at > ${instant(`${now} - ${maxIdleMs}`)} and s.created_at > ${instant(`${now} - ${maxAgeMs}`)}`

export const layer = Layer.effect(
  SessionStore,
  SqlClient.SqlClient.useSync((sql) =>
    SessionStore.of({ create: create(sql), use: use(sql), end: end(sql), findOpen: findOpen(sql), list: list(sql) })
  )
)

/** Deletes ended sessions of all accounts, and the least used ones of the account beyond the maximum. */
const create = (sql: SqlClient.SqlClient) =>
  Effect.fn("SessionStore.create")(function*(hash: Uint8Array, session: NewSession) {
    const now = yield* Clock.currentTimeMillis
    const [row] = yield* run(sql.unsafe<SessionRow>(
      `with ended as (delete from sessions s where not (${isOpen("$6::float8")})),
      surplus as (delete from sessions where id in (
        select id from sessions s where account_id = $2::int4 and ${isOpen("$6::float8")}
        order by used_at desc, id desc offset ${maxSessions - 1}))
      insert into sessions as s (hash, account_id, credential, address, agent, created_at, used_at)
      values ($1::bytea, $2::int4, $3, $4, $5, ${instant("$6::float8")}, ${instant("$6::float8")})
      returning ${sessionSelect}`,
      [
        Buffer.from(hash),
        session.accountId,
        session.credential,
        legalText(session.address),
        legalText(session.agent),
        now
      ]
    ))
    return row === undefined ? yield* Effect.die("an insertion returned no row") : sessionOf(row)
  })

const use = (sql: SqlClient.SqlClient) =>
  Effect.fn("SessionStore.use")(function*(hash: Uint8Array) {
    const now = yield* Clock.currentTimeMillis
    const [row] = yield* run(sql.unsafe<SessionRow>(
      `select ${sessionSelect} from sessions s where hash = $1::bytea and ${isOpen("$2::float8")}`,
      [Buffer.from(hash), now]
    ))
    if (row === undefined) return Option.none()
    if (now - row.used >= minuteMs) {
      yield* run(sql.unsafe(
        `update sessions set used_at = ${instant("$2::float8")} where id = $1::int4`,
        [row.id, now]
      ))
    }
    return Option.some(sessionOf(row))
  })

const end = (sql: SqlClient.SqlClient) =>
  Effect.fn("SessionStore.end")(function*(accountId: number, id: number) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* run(sql.unsafe(
      `delete from sessions s where account_id = $1::int4 and id = $2::int4 and ${isOpen("$3::float8")} returning id`,
      [accountId, id, now]
    ))
    return rows.length > 0
  })

const findOpen = (sql: SqlClient.SqlClient) =>
  Effect.fn("SessionStore.findOpen")(function*(ids: ReadonlyArray<number>) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* run(sql.unsafe<{ readonly id: number }>(
      `select s.id from sessions s where s.id = any($1::int4[]) and ${isOpen("$2::float8")}`,
      [column.integers(ids), now]
    ))
    return new Set(rows.map(({ id }) => id))
  })

const list = (sql: SqlClient.SqlClient) =>
  Effect.fn("SessionStore.list")(function*(accountId: number) {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* run(sql.unsafe<SessionRow>(
      `select ${sessionSelect} from sessions s where account_id = $1::int4 and ${isOpen("$2::float8")}
      order by used_at desc, id desc`,
      [accountId, now]
    ))
    return rows.map(sessionOf)
  })
