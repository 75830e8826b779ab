import { Clock, Effect, Layer, Option, type Redacted } from "effect"
import { SqlClient } from "effect/sql"
import {
  type Account,
  type AccountChanges,
  effectiveRights,
  nameOfIdentity,
  passwordRights,
  type Right,
  rightsFromBits,
  rightsToBits,
  type Token
} from "#domain/Account.ts"
import { type AccountPage, type AccountQuery, AccountStore, JidTaken, LoginTaken } from "#domain/ports/AccountStore.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import { batched } from "./Batched.ts"
import {
  hashToken,
  idsOfCredentials,
  type LoginCredentials,
  makeAuthenticate,
  makeToken,
  nameOfPassword,
  nameOfToken
} from "./Credentials.ts"
import { sqlWithGenericPlans } from "./GenericPlans.ts"
import * as Passwords from "./Passwords.ts"
import { run } from "./Query.ts"
import { makeTokenUses, type NoteTokenUses } from "./TokenUses.ts"
import { column, escapePattern, instant, legalText, millis, urlKey } from "./Values.ts"

interface AccountRow {
  readonly id: number
  readonly login: string
  readonly jid: string | null
  readonly legacy_item_namespace: boolean | null
  readonly credits: number
  readonly created_at: number
  readonly admin: boolean
  readonly disabled: boolean
  readonly max_subscriptions: number | null
}

/** Columns of an `AccountRow` from accounts `a`. */
const accountSelect = `a.id, a.login, a.jid, a.legacy_item_namespace, a.credits::float8 as credits,
  a.admin, a.disabled, a.max_subscriptions, ${millis("a.created_at")} as created_at`

const accountOf = (row: AccountRow): Account => ({
  id: row.id,
  login: row.login,
  ...(row.jid === null ? {} : { jid: row.jid }),
  ...(row.legacy_item_namespace === null ? {} : { legacyItemNamespace: row.legacy_item_namespace }),
  credits: row.credits,
  createdAt: row.created_at,
  ...(row.admin && { admin: true }),
  ...(row.disabled && { disabled: true }),
  ...(row.max_subscriptions !== null && { maxSubscriptions: row.max_subscriptions })
})

interface TokenRow {
  readonly id: number
  readonly account: number
  readonly name: string
  readonly rights: number
  readonly created_at: number
  readonly used_at: number | null
}

/** Columns of a `TokenRow` from tokens `t`. */
const tokenSelect = `t.id, t.account_id as account, t.name, t.rights, ${millis("t.created_at")} as created_at, ${
  millis("t.used_at")
} as used_at`

const tokenOf = (row: TokenRow): Token => ({
  id: row.id,
  accountId: row.account,
  name: row.name,
  rights: rightsFromBits(row.rights),
  createdAt: row.created_at,
  ...(row.used_at !== null && { usedAt: row.used_at })
})

/** An account with its matching token, if any. */
interface CredentialRow extends AccountRow {
  /** Position of the look-up in its batch, from 1. */
  readonly position: number
  readonly password_hash: string
  readonly token: number | null
  readonly granted: number | null
  readonly used: number | null
}

const credentialsOf = (row: CredentialRow): LoginCredentials => ({
  account: accountOf(row),
  passwordHash: row.password_hash,
  ...(row.token === null ? {} : { token: { id: row.token, rights: rightsFromBits(row.granted ?? 0) } })
})

/** With the given cost of a password hash. */
export const layerWith = (cost: Passwords.Cost) =>
  Layer.effect(
    AccountStore,
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      const genericSql = yield* sqlWithGenericPlans
      const passwords = Passwords.make(cost)
      const noteUses = yield* makeTokenUses(sql)
      let generation = 0
      /** Ends what is remembered of callers. A failed statement may have been executed, too. */
      const changing =
        <In extends ReadonlyArray<unknown>, A, E>(change: (...input: In) => Effect.Effect<A, E>) => (...input: In) =>
          Effect.ensuring(change(...input), Effect.sync(() => void generation++))
      return AccountStore.of({
        create: changing(create(sql, passwords)),
        find: Effect.fn("AccountStore.find")((login) => findWhere(sql, "a.login = $1", legalText(login))),
        load: Effect.fn("AccountStore.load")((id) => findWhere(sql, "a.id = $1::int4", id)),
        findByJid: Effect.fn("AccountStore.findByJid")((jid) => findWhere(sql, "a.jid = $1", legalText(jid))),
        update: changing(update(sql)),
        addCredits: changing(addCredits(sql)),
        remove: changing(remove(sql)),
        list: list(sql),
        setPassword: changing(setPassword(sql, passwords)),
        authenticate: makeAuthenticate(passwords, makeLookup(genericSql, noteUses), () => generation),
        rightsOf: selectRights(genericSql),
        createToken: changing(createToken(sql)),
        listTokens: listTokens(sql),
        revokeToken: changing(revokeToken(sql))
      })
    })
  )

export const layer = layerWith(Passwords.interactive)

const create = (sql: SqlClient.SqlClient, passwords: Passwords.Passwords) =>
  Effect.fn("AccountStore.create")(
    function*(login: string, password: Redacted.Redacted, { admin = false }: { readonly admin?: boolean } = {}) {
      const hash = yield* passwords.hash(password)
      const [row] = yield* run(sql.unsafe<AccountRow>(
        `insert into accounts as a (login, password_hash, created_at, admin) values ($1, $2, ${
          instant("$3::float8")
        }, $4)
      on conflict (login) do nothing returning ${accountSelect}`,
        [login, hash, yield* Clock.currentTimeMillis, admin]
      ))
      return row === undefined ? yield* new LoginTaken({ login }) : accountOf(row)
    }
  )

const setPassword = (sql: SqlClient.SqlClient, passwords: Passwords.Passwords) =>
  Effect.fn("AccountStore.setPassword")(function*(login: string, password: Redacted.Redacted) {
    const hash = yield* passwords.hash(password)
    const rows = yield* run(
      sql.unsafe(`update accounts set password_hash = $2 where login = $1 and id > 0 returning id`, [
        legalText(login),
        hash
      ])
    )
    return rows.length > 0
  })

const findWhere = (sql: SqlClient.SqlClient, condition: string, value: string | number) =>
  Effect.map(
    run(sql.unsafe<AccountRow>(`select ${accountSelect} from accounts a where a.id > 0 and ${condition}`, [value])),
    (rows) => Option.map(Option.fromNullishOr(rows[0]), accountOf)
  )

const list = (sql: SqlClient.SqlClient) =>
  Effect.fn("AccountStore.list")(function*({ after = 0, limit, login }: AccountQuery) {
    const named = login === undefined ? "" : "and a.login like $3"
    const rows = yield* run(sql.unsafe<AccountRow>(
      `select ${accountSelect} from accounts a where a.id > $1::int8 and a.id > 0 ${named} order by a.id limit $2::int4`,
      [BigInt(after), limit + 1, ...(login === undefined ? [] : [legalText(`%${escapePattern(login)}%`)])]
    ))
    const items = rows.slice(0, limit).map(accountOf)
    const last = items.at(-1)
    return { items, ...(rows.length > limit && last !== undefined && { next: last.id }) } satisfies AccountPage
  })

/** The statement itself checks for another account with the JID, so that of two concurrent changes only one takes the JID. */
const update = (sql: SqlClient.SqlClient) =>
  Effect.fn("AccountStore.update")(function*(login: string, changes: AccountChanges) {
    const jid = changes.jid === undefined || changes.jid === null ? null : legalText(changes.jid)
    const [row] = yield* run(sql.unsafe<{ changed: boolean; taken: boolean }>(
      `with wanted as (select id from accounts where login = $1 and id > 0),
      other as (select 1 from accounts where jid = $3 and id <> all (select id from wanted)),
      done as (update accounts set jid = case when $2::boolean then $3 else jid end,
          legacy_item_namespace = coalesce($4::boolean, legacy_item_namespace), admin = coalesce($5::boolean, admin),
          disabled = coalesce($6::boolean, disabled),
          max_subscriptions = case when $7::boolean then $8::int4 else max_subscriptions end
        where id in (select id from wanted) and not exists (select from other) returning id),
      forgotten as (delete from entries e using resources r, done
        where not coalesce($5::boolean, true) and r.key = ${
        urlKey("'windhover:events/' || done.id")
      } and e.resource_id = r.id)
      select exists (select from done) as changed, exists (select from other) as taken`,
      [
        legalText(login),
        changes.jid !== undefined,
        jid,
        changes.legacyItemNamespace ?? null,
        changes.admin ?? null,
        changes.disabled ?? null,
        changes.maxSubscriptions !== undefined,
        changes.maxSubscriptions ?? null
      ]
    ))
    if (jid !== null && row?.taken === true) return yield* new JidTaken({ jid })
    return row?.changed === true
  })

/** Kinds of the ledger. */
const topUp = 1
const adjustment = 2

const addCredits = (sql: SqlClient.SqlClient) =>
  Effect.fn("AccountStore.addCredits")(function*(login: string, credits: number) {
    const [row] = yield* run(sql.unsafe<{ credits: number }>(
      `with changed as (
        update accounts set credits = credits + $2::int8 where login = $1 and id > 0 returning id, credits
      ), entered as (
        insert into credit_ledger as l (account_id, kind, bucket, delta)
        select id, $3::int2, ${instant("$4::float8")}, $2::int8 from changed
        on conflict (account_id, bucket, kind) do update set delta = l.delta + excluded.delta
      )
      select credits::float8 as credits from changed`,
      [legalText(login), BigInt(credits), credits < 0 ? adjustment : topUp, yield* Clock.currentTimeMillis]
    ))
    return Option.map(Option.fromNullishOr(row), (changed) => changed.credits)
  })

/** The deletion and its condition are one statement. A subscription that arrives meanwhile finds no account any more. */
const remove = (sql: SqlClient.SqlClient) =>
  Effect.fn("AccountStore.remove")(function*(login: string) {
    const [row] = yield* run(sql.unsafe<{ known: boolean; removed: boolean }>(
      `with wanted as (select id from accounts where login = $1 and id > 0 for update),
      removed as (delete from accounts where id in (select id from wanted)
        and not exists (select from subscriptions u join wanted w on w.id = u.account_id) returning id)
      select exists (select from wanted) as known, exists (select from removed) as removed`,
      [legalText(login)]
    ))
    return row?.removed === true ? "removed" : row?.known === true ? "subscribed" : "unknown"
  })

/**
 * One statement for all logins that arrive while another statement runs.
 * A statement starts after its callers have arrived, so that it sees every earlier change of a password.
 */
const makeLookup = (sql: SqlClient.SqlClient, noteUses: NoteTokenUses) => {
  const lookup = batched({
    concurrency: 1,
    maxInputs: 500,
    run: Effect.fnUntraced(function*(wanted: ReadonlyArray<{ readonly login: string; readonly tokenHash: Buffer }>) {
      const rows = yield* run(sql.unsafe<CredentialRow>(lookupSql, [
        column.texts(wanted.map(({ login }) => login)),
        column.bytes(wanted.map(({ tokenHash }) => tokenHash))
      ]))
      const found = wanted.map((): Option.Option<LoginCredentials> => Option.none())
      for (const row of rows) found[row.position - 1] = Option.some(credentialsOf(row))
      yield* noteUses(
        rows.flatMap(({ token, used }) => token === null ? [] : [{ id: token, usedAt: used ?? -Infinity }])
      )
      return found
    })
  })
  return (login: string, tokenHash: Buffer) => lookup({ login, tokenHash })
}

const lookupSql = `
  select wanted.position::float8 as position, ${accountSelect}, a.password_hash, t.id as token, t.rights as granted,
    ${millis("t.used_at")} as used
  from unnest($1::text[], $2::bytea[]) with ordinality wanted(login, hash, position)
  join accounts a on a.login = wanted.login and a.id > 0 and not a.disabled left join tokens t on t.account_id = a.id and t.hash = wanted.hash`

const selectRights = (sql: SqlClient.SqlClient) =>
  Effect.fn("AccountStore.rightsOf")(function*(credentials: ReadonlyArray<string>) {
    const wanted = new Set(credentials)
    const owners = (["account", "proxy", "provider"] as const).flatMap((kind) => idsOfCredentials(credentials, kind))
    const rows = yield* run(sql.unsafe<{ id: number; granted: number | null; password: string | null; admin: boolean }>(
      `select t.id, t.rights as granted, null as password, a.admin from tokens t join accounts a on a.id = t.account_id
        where t.id = any($1::int4[]) and not a.disabled
      union all select id, null, password_hash, admin from accounts where id = any($2::int4[]) and not disabled`,
      [column.integers(idsOfCredentials(credentials, "token")), column.integers(owners)]
    ))
    return new Map(rows.flatMap(({ admin, granted, id, password }) => {
      if (password === null) {
        return [[nameOfToken(id), new Set(effectiveRights({ admin }, rightsFromBits(granted ?? 0)))] as const]
      }
      const names = [nameOfPassword(id, password), nameOfIdentity("proxy", id), nameOfIdentity("provider", id)]
      return names.filter((name) => wanted.has(name)).map((name) => [name, new Set(passwordRights({ admin }))] as const)
    }))
  })

const createToken = (sql: SqlClient.SqlClient) =>
  Effect.fn("AccountStore.createToken")(function*(options: {
    readonly accountId: number
    readonly name: string
    readonly rights: ReadonlyArray<Right>
    readonly preset?: Redacted.Redacted
  }) {
    const secret = options.preset ?? (yield* makeToken)
    const [row] = yield* run(sql.unsafe<TokenRow>(
      `insert into tokens as t (account_id, hash, rights, name, created_at)
      select id, $2::bytea, $3::int4, $4, ${instant("$5::float8")} from accounts where id = $1::int4 and id > 0
      on conflict (hash) do update set rights = excluded.rights, name = excluded.name where t.account_id = excluded.account_id
      returning ${tokenSelect}`,
      [
        options.accountId,
        hashToken(secret),
        rightsToBits(options.rights),
        legalText(options.name),
        yield* Clock.currentTimeMillis
      ]
    ))
    return row === undefined ? yield* tokenRejected : { token: tokenOf(row), secret }
  })

const tokenRejected = new StoreError({
  reason: { _tag: "Defect", message: "There is no such account, or the token is another account's." }
})

const listTokens = (sql: SqlClient.SqlClient) =>
  Effect.fn("AccountStore.listTokens")(function*(
    accountId: number,
    { after = 0, limit }: { readonly after?: number; readonly limit?: number } = {}
  ) {
    const rows = yield* run(
      sql.unsafe<TokenRow>(
        `select ${tokenSelect} from tokens t where t.account_id = $1::int4 and t.id > $2::int8 order by t.id limit $3::int4`,
        [accountId, BigInt(after), limit ?? null]
      )
    )
    return rows.map(tokenOf)
  })

const revokeToken = (sql: SqlClient.SqlClient) =>
  Effect.fn("AccountStore.revokeToken")(function*(accountId: number, tokenId: number) {
    const rows = yield* run(
      sql.unsafe(`delete from tokens where account_id = $1::int4 and id = $2::int4 returning id`, [accountId, tokenId])
    )
    return rows.length > 0
  })
