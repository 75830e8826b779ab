import { Clock, Effect, Layer, Option, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type Account, type AccountChanges, fromBits, type Right, rights, toBits, type Token } from "#domain/Account.ts"
import { AccountStore, JidTaken, LoginTaken } from "#domain/ports/AccountStore.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import { hashToken, type Known, makeAuthenticate, makeToken, numbersOf, ofPassword, ofToken } from "./Credentials.ts"
import * as Passwords from "./Passwords.ts"
import { batched } from "./Batched.ts"
import { column, filled, instant, legalText, millis } from "./Values.ts"
import { run } from "./Query.ts"

interface AccountRow {
  readonly id: number
  readonly login: string
  readonly jid: string | null
  readonly legacy_item_namespace: boolean
  readonly credits: number
  readonly created_at: number
}

interface TokenRow {
  readonly id: number
  readonly account: number
  readonly name: string
  readonly rights: number
  readonly created_at: number
}

const accountColumns = `a.id, a.login, a.jid, a.legacy_item_namespace, a.credits::float8 as credits, ${
  millis("a.created_at")
} as created_at`
const tokenColumns = `t.id, t.account_id as account, t.name, t.rights, ${millis("t.created_at")} as created_at`

/** Who says to be `login`, and has a secret whose hash is one of a token. */
interface Asked {
  readonly login: string
  readonly tokenHash: Buffer
}

interface KnownRow extends AccountRow {
  /** From 1: whose answer it is. */
  readonly place: number
  readonly password_hash: string
  readonly token: number | null
  readonly granted: number | null
}

const lookupSql = `
select asked.place::float8 as place, ${accountColumns}, a.password_hash, t.id as token, t.rights as granted
from unnest($1::text[], $2::bytea[]) with ordinality asked(login, hash, place)
join accounts a on a.login = asked.login and a.id > 0 left join tokens t on t.account_id = a.id and t.hash = asked.hash`

const knownOf = (row: KnownRow): Known => ({
  account: accountOf(row),
  passwordHash: row.password_hash,
  ...(row.token === null ? {} : { token: { id: row.token, rights: fromBits(row.granted ?? 0) } })
})

export const layerWith = (cost: Passwords.Cost) =>
  Layer.effect(
    AccountStore,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const passwords = Passwords.make(cost)

      /** One statement for all who come while another one is under way; each begins after its callers have come, so that nothing is known from before. */
      const known = batched({
        spacing: 0,
        gathering: 0,
        concurrency: 1,
        max: 500,
        run: Effect.fnUntraced(function*(asked: ReadonlyArray<Asked>) {
          const rows = yield* run(sql.unsafe<KnownRow>(lookupSql, [
            column.texts(filled(asked.map(({ login }) => login), null)),
            column.bytes(filled(asked.map(({ tokenHash }) => tokenHash), null))
          ]))
          const answers = asked.map((): Option.Option<Known> => Option.none())
          for (const row of rows) answers[row.place - 1] = Option.some(knownOf(row))
          return answers
        })
      })
      const lookup = (login: string, tokenHash: Buffer) => known({ login, tokenHash })

      const create = Effect.fn("AccountStore.create")(function*(login: string, password: Redacted.Redacted) {
        const hash = yield* passwords.hash(password)
        const rows = yield* run(sql.unsafe<AccountRow>(
          `insert into accounts as a (login, password_hash, created_at) values ($1, $2, ${instant("$3::float8")})
        on conflict (login) do nothing returning ${accountColumns}`,
          [login, hash, yield* Clock.currentTimeMillis]
        ))
        const [row] = rows
        return row === undefined ? yield* new LoginTaken({ login }) : accountOf(row)
      })

      const setPassword = Effect.fn("AccountStore.setPassword")(function*(login: string, password: Redacted.Redacted) {
        const hash = yield* passwords.hash(password)
        const rows = yield* run(
          sql.unsafe(`update accounts set password_hash = $2 where login = $1 and id > 0 returning id`, [
            legalText(login),
            hash
          ])
        )
        return rows.length > 0
      })

      const one = (condition: string, value: string | number) =>
        Effect.map(
          run(
            sql.unsafe<AccountRow>(`select ${accountColumns} from accounts a where a.id > 0 and ${condition}`, [value])
          ),
          (rows) => Option.map(Option.fromNullishOr(rows[0]), accountOf)
        )

      /** Whether the JID is somebody else's is decided by the statement itself: no two changes at once can both have it. */
      const change = Effect.fn("AccountStore.change")(function*(login: string, changes: AccountChanges) {
        const jid = changes.jid === undefined || changes.jid === null ? null : legalText(changes.jid)
        const rows = yield* run(sql.unsafe<{ changed: boolean; taken: boolean }>(
          `with wanted as (select id from accounts where login = $1 and id > 0),
          other as (select 1 from accounts where jid = $3 and id <> all (select id from wanted)),
          done as (update accounts set jid = case when $2::boolean then $3 else jid end,
              legacy_item_namespace = coalesce($4::boolean, legacy_item_namespace)
            where id in (select id from wanted) and not exists (select from other) returning id)
          select exists (select from done) as changed, exists (select from other) as taken`,
          [legalText(login), changes.jid !== undefined, jid, changes.legacyItemNamespace ?? null]
        ))
        if (jid !== null && rows[0]?.taken === true) return yield* new JidTaken({ jid })
        return rows[0]?.changed === true
      })

      const createToken = Effect.fn("AccountStore.createToken")(function*(options: {
        readonly accountId: number
        readonly name: string
        readonly rights: ReadonlyArray<Right>
        readonly preset?: Redacted.Redacted
      }) {
        const secret = options.preset ?? (yield* makeToken)
        const rows = yield* run(sql.unsafe<TokenRow>(
          `insert into tokens as t (account_id, hash, rights, name, created_at)
        select id, $2::bytea, $3::int4, $4, ${instant("$5::float8")} from accounts where id = $1::int4 and id > 0
        on conflict (hash) do update set rights = excluded.rights, name = excluded.name where t.account_id = excluded.account_id
        returning ${tokenColumns}`,
          [
            options.accountId,
            hashToken(secret),
            toBits(options.rights),
            legalText(options.name),
            yield* Clock.currentTimeMillis
          ]
        ))
        const [row] = rows
        return row === undefined ? yield* refused : { token: tokenOf(row), secret }
      })

      const rightsOf = Effect.fn("AccountStore.rightsOf")(function*(credentials: ReadonlyArray<string>) {
        const rows = yield* run(sql.unsafe<{ id: number; granted: number | null; password: string | null }>(
          `select id, rights as granted, null as password from tokens where id = any($1::int4[])
          union all select id, null, password_hash from accounts where id = any($2::int4[])`,
          [column.integers(numbersOf(credentials, "token")), column.integers(numbersOf(credentials, "account"))]
        ))
        return new Map(rows.map(({ granted, id, password }) =>
          password === null
            ? [ofToken(id), new Set(fromBits(granted ?? 0))] as const
            : [ofPassword(id, password), new Set(rights)] as const
        ))
      })

      return AccountStore.of({
        create,
        rightsOf,
        find: Effect.fn("AccountStore.find")((login) => one("a.login = $1", legalText(login))),
        load: Effect.fn("AccountStore.load")((id) => one("a.id = $1::int4", id)),
        findByJid: Effect.fn("AccountStore.ofJid")((jid) => one("a.jid = $1", legalText(jid))),
        update: change,
        list: run(sql.unsafe<AccountRow>(`select ${accountColumns} from accounts a where a.id > 0 order by a.id`)).pipe(
          Effect.map((rows) => rows.map(accountOf))
        ),
        setPassword,
        authenticate: Effect.fn("AccountStore.authenticate")(makeAuthenticate(passwords, lookup)),
        createToken,
        listTokens: Effect.fn("AccountStore.tokens")((accountId) =>
          Effect.map(
            run(
              sql.unsafe<TokenRow>(`select ${tokenColumns} from tokens t where t.account_id = $1::int4 order by t.id`, [
                accountId
              ])
            ),
            (rows) => rows.map(tokenOf)
          )
        ),
        revokeToken: Effect.fn("AccountStore.revokeToken")((accountId, tokenId) =>
          Effect.map(
            run(
              sql.unsafe(`delete from tokens where account_id = $1::int4 and id = $2::int4 returning id`, [
                accountId,
                tokenId
              ])
            ),
            (rows) => rows.length > 0
          )
        )
      })
    })
  )

export const layer = layerWith(Passwords.interactive)

const refused = new StoreError({
  reason: { _tag: "Defect", message: "There is no such account, or the token is another account's." }
})

const accountOf = (row: AccountRow): Account => ({
  id: row.id,
  login: row.login,
  ...(row.jid === null ? {} : { jid: row.jid }),
  ...(row.legacy_item_namespace ? { legacyItemNamespace: true } : {}),
  credits: row.credits,
  createdAt: row.created_at
})

const tokenOf = (row: TokenRow): Token => ({
  id: row.id,
  accountId: row.account,
  name: row.name,
  rights: fromBits(row.rights),
  createdAt: row.created_at
})
