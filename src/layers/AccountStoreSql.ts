import { Clock, Effect, Layer, Option, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import { type Account, fromBits, type Right, toBits, type Token } from "#domain/Account.ts"
import { AccountStore, LoginTaken } from "#domain/ports/AccountStore.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import { hashToken, type Known, makeAuthenticate, makeToken } from "./Credentials.ts"
import * as Passwords from "./Passwords.ts"
import { instant, legalText, millis } from "./sql/Values.ts"
import { ask } from "./SqlFailure.ts"

interface AccountRow {
  readonly id: number
  readonly login: string
  readonly jid: string | null
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

const accountColumns = `a.id, a.login, a.jid, a.credits::float8 as credits, ${millis("a.created_at")} as created_at`
const tokenColumns = `t.id, t.account_id as account, t.name, t.rights, ${millis("t.created_at")} as created_at`

export const layerWith = (cost: Passwords.Cost) =>
  Layer.effect(
    AccountStore,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const passwords = Passwords.make(cost)

      const lookup = (login: string, tokenHash: Buffer) =>
        Effect.map(
          ask(sql.unsafe<AccountRow & { password_hash: string; token: number | null; rights: number | null }>(
            `select ${accountColumns}, a.password_hash, t.id as token, t.rights
          from accounts a left join tokens t on t.account_id = a.id and t.hash = $2::bytea where a.login = $1 and a.id > 0`,
            [legalText(login), tokenHash]
          )),
          (rows) =>
            Option.map(Option.fromNullishOr(rows[0]), (row): Known => ({
              account: accountOf(row),
              passwordHash: row.password_hash,
              ...(row.token === null ? {} : { token: { id: row.token, rights: fromBits(row.rights ?? 0) } })
            }))
        )

      const create = Effect.fn("AccountStore.create")(function*(login: string, password: Redacted.Redacted) {
        const hash = yield* passwords.hash(password)
        const rows = yield* ask(sql.unsafe<AccountRow>(
          `insert into accounts as a (login, password_hash, created_at) values ($1, $2, ${instant("$3::float8")})
        on conflict (login) do nothing returning ${accountColumns}`,
          [login, hash, yield* Clock.currentTimeMillis]
        ))
        const [row] = rows
        return row === undefined ? yield* new LoginTaken({ login }) : accountOf(row)
      })

      const setPassword = Effect.fn("AccountStore.setPassword")(function*(login: string, password: Redacted.Redacted) {
        const hash = yield* passwords.hash(password)
        const rows = yield* ask(
          sql.unsafe(`update accounts set password_hash = $2 where login = $1 and id > 0 returning id`, [
            legalText(login),
            hash
          ])
        )
        return rows.length > 0
      })

      const createToken = Effect.fn("AccountStore.createToken")(function*(options: {
        readonly accountId: number
        readonly name: string
        readonly rights: ReadonlyArray<Right>
        readonly preset?: Redacted.Redacted
      }) {
        const secret = options.preset ?? (yield* makeToken)
        const rows = yield* ask(sql.unsafe<TokenRow>(
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

      return AccountStore.of({
        create,
        find: Effect.fn("AccountStore.find")((login) =>
          Effect.map(
            ask(
              sql.unsafe<AccountRow>(`select ${accountColumns} from accounts a where a.login = $1 and a.id > 0`, [
                legalText(login)
              ])
            ),
            (rows) => Option.map(Option.fromNullishOr(rows[0]), accountOf)
          )
        ),
        list: ask(sql.unsafe<AccountRow>(`select ${accountColumns} from accounts a where a.id > 0 order by a.id`)).pipe(
          Effect.map((rows) => rows.map(accountOf))
        ),
        setPassword,
        authenticate: Effect.fn("AccountStore.authenticate")(makeAuthenticate(passwords, lookup)),
        createToken,
        tokens: Effect.fn("AccountStore.tokens")((accountId) =>
          Effect.map(
            ask(
              sql.unsafe<TokenRow>(`select ${tokenColumns} from tokens t where t.account_id = $1::int4 order by t.id`, [
                accountId
              ])
            ),
            (rows) => rows.map(tokenOf)
          )
        ),
        revokeToken: Effect.fn("AccountStore.revokeToken")((accountId, tokenId) =>
          Effect.map(
            ask(
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
  reason: "defect",
  message: "There is no such account, or the token is another account's."
})

const accountOf = (row: AccountRow): Account => ({
  id: row.id,
  login: row.login,
  ...(row.jid === null ? {} : { jid: row.jid }),
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
