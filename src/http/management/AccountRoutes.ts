import { Effect, Option, Redacted, Schema } from "effect"
import { deleteAccount } from "#actors/operations/DeleteAccount.ts"
import type { Hub } from "#actors/operations/Hub.ts"
import { refuseStoreErrors } from "#actors/operations/StoreRefusal.ts"
import {
  type Account,
  type AccountChanges,
  loginProblem,
  maxMaxSubscriptions,
  passwordProblem,
  tokenRights
} from "#domain/Account.ts"
import { AccountStore, LoginTaken } from "#domain/ports/AccountStore.ts"
import { badParameter, NotSubscribed, type Refusal, refuse } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import { makeCursor } from "./Cursor.ts"
import * as Field from "./Fields.ts"
import { makeRoute, type ManagementRoute } from "./ManagementRoute.ts"

const group = "Accounts"

/** Maximum credits of one change. */
export const maxCredits = 1_000_000_000_000

const login = Field.text(63, "Login of the account.", "a login")

const accountFields = {
  id: Schema.Int,
  login: Schema.String,
  credits: Schema.Finite,
  created: Field.time,
  admin: Schema.Boolean,
  disabled: Schema.Boolean,
  maxSubscriptions: Field.optional(Schema.Int.annotate({ description: "Absent without a maximum." }))
}

const accountJson = (account: Account) => ({
  id: account.id,
  login: account.login,
  credits: account.credits,
  created: Field.formatTime(account.createdAt),
  admin: account.admin === true,
  disabled: account.disabled === true,
  ...(account.maxSubscriptions !== undefined && { maxSubscriptions: account.maxSubscriptions })
})

const unknownAccount = (login: string): Refusal =>
  refuse(new NotSubscribed({ message: `There is no account ${quote(login)}.` }))

/** Creates an account, after checks of login and password. */
export const createAccount = Effect.fnUntraced(function*(wanted: string, password: string, admin: boolean) {
  const problem = loginProblem(wanted)
  if (problem !== undefined) return yield* badParameter("login", `${quote(wanted)} cannot be a login. ${problem}`)
  const weak = passwordProblem(password)
  if (weak !== undefined) return yield* badParameter("password", weak)
  const store = yield* AccountStore
  const created = yield* store.create(wanted, Redacted.make(password), { admin }).pipe(
    Effect.catchTag("LoginTaken", (taken) => Effect.succeed(taken)),
    refuseStoreErrors
  )
  return created instanceof LoginTaken ? yield* badParameter("login", created.message) : created
})

/** Changes the state of an account. An operator cannot lock itself out. */
export const changeAccount = Effect.fnUntraced(function*(
  own: Account,
  wanted: string,
  changes: Pick<AccountChanges, "admin" | "disabled" | "maxSubscriptions">
) {
  if (wanted === own.login && (changes.disabled === true || changes.admin === false)) {
    return yield* badParameter(
      "login",
      "Your own account stays enabled, and an operator's. Another operator can change it."
    )
  }
  const store = yield* AccountStore
  const changed = yield* store.update(wanted, changes).pipe(
    Effect.catchTag("JidTaken", Effect.die),
    refuseStoreErrors
  )
  if (!changed) return yield* unknownAccount(wanted)
})

/** Deletes another account, or ends a part of its subscriptions. */
export const removeAccount = Effect.fnUntraced(function*(own: Account, wanted: string) {
  if (wanted === own.login) {
    return yield* badParameter("login", "An account does not delete itself. Another operator can.")
  }
  const result = yield* deleteAccount(wanted)
  return result === "unknown" ? yield* unknownAccount(wanted) : result
})

export const creditAccount = Effect.fnUntraced(function*(wanted: string, credits: number) {
  const balance = yield* refuseStoreErrors(AccountStore.use((store) => store.addCredits(wanted, credits)))
  return Option.isNone(balance) ? yield* unknownAccount(wanted) : balance.value
})

const accountsCursor = makeCursor("accounts", Field.integer(1, Number.MAX_SAFE_INTEGER, ""))

const accounts = makeRoute({
  method: "GET",
  path: "/api/accounts",
  right: "admin",
  group,
  summary: "Lists the accounts, oldest first",
  input: Schema.Struct({
    login: Field.optional(Field.text(63, "A part of the login.", "a part of a login")),
    limit: Field.limit,
    cursor: Field.cursor
  }),
  output: Schema.Struct({
    accounts: Schema.Array(Schema.Struct(accountFields)),
    next: Field.optional(Field.cursorText)
  }),
  run: Effect.fnUntraced(function*({ cursor, limit = Field.defaultLimit, login }) {
    const after = yield* accountsCursor.parse(cursor)
    const { items, next } = yield* refuseStoreErrors(AccountStore.use((store) =>
      store.list({
        limit,
        ...(login !== undefined && { login: login.toLowerCase() }),
        ...(after !== undefined && { after })
      })
    ))
    return { accounts: items.map(accountJson), ...(next !== undefined && { next: accountsCursor.format(next) }) }
  })
})

const create = makeRoute({
  method: "POST",
  path: "/api/accounts/create",
  right: "admin",
  group,
  summary: "Creates an account",
  input: Schema.Struct({
    login,
    password: Field.text(1_024, "At least 8 characters.", "a password"),
    admin: Field.optional(Field.flag("true: an operator's account."))
  }),
  output: Schema.Struct(accountFields),
  run: ({ admin = false, login, password }) => Effect.map(createAccount(login, password, admin), accountJson)
})

const change = makeRoute({
  method: "POST",
  path: "/api/accounts/change",
  right: "admin",
  group,
  summary: "Disables or enables an account, makes it an operator's, or limits its subscriptions",
  input: Schema.Struct({
    login,
    disabled: Field.optional(Field.flag("true: its credentials are refused; its subscriptions go on.")),
    admin: Field.optional(Field.flag("Whether the account is an operator's.")),
    maxSubscriptions: Field.optional(
      Schema.NullOr(
        Field.integer(
          0,
          maxMaxSubscriptions,
          "Maximum of its subscriptions; existing ones stay. null: without a maximum."
        )
      ).annotate({ expected: `a whole number from 0 to ${maxMaxSubscriptions}, or null` })
    )
  }),
  output: Schema.Struct({ login: Schema.String }),
  run: ({ login, ...changes }, { caller }) => Effect.as(changeAccount(caller.account, login, changes), { login })
})

const credits = makeRoute({
  method: "POST",
  path: "/api/accounts/credits",
  right: "admin",
  group,
  summary: "Adds credits to an account, or takes them back",
  input: Schema.Struct({
    login,
    credits: Field.integer(-maxCredits, maxCredits, "A negative number takes credits back.")
  }),
  output: Schema.Struct({ login: Schema.String, credits: Schema.Finite.annotate({ description: "The balance." }) }),
  run: ({ credits, login }) => Effect.map(creditAccount(login, credits), (balance) => ({ login, credits: balance }))
})

const remove = makeRoute({
  method: "POST",
  path: "/api/accounts/delete",
  right: "admin",
  group,
  summary: "Disables an account, ends its subscriptions and deletes it; at most 200 subscriptions per request",
  input: Schema.Struct({ login }),
  output: Schema.Struct({
    login: Schema.String,
    deleted: Schema.Boolean.annotate({
      description: "False: the account has more subscriptions; send the request again."
    })
  }),
  run: ({ login }, { caller }) =>
    Effect.map(removeAccount(caller.account, login), (result) => ({ login, deleted: result === "deleted" }))
})

const tokensCursor = makeCursor("tokens", Field.integer(1, Number.MAX_SAFE_INTEGER, ""))

const tokens = makeRoute({
  method: "GET",
  path: "/api/tokens",
  right: "list",
  group,
  summary: "Lists the tokens of the account, without their secrets, oldest first",
  input: Schema.Struct({ limit: Field.limit, cursor: Field.cursor }),
  output: Schema.Struct({
    tokens: Schema.Array(Schema.Struct({
      id: Schema.Int,
      name: Schema.String,
      rights: Schema.Array(Schema.Literals(tokenRights)),
      created: Field.time,
      lastUsed: Field.optional(Field.time.annotate({ description: "Exact to an hour; absent for an unused token." }))
    })),
    next: Field.optional(Field.cursorText)
  }),
  run: Effect.fnUntraced(function*({ cursor, limit = Field.defaultLimit }, { caller }) {
    const after = yield* tokensCursor.parse(cursor)
    const found = yield* refuseStoreErrors(
      AccountStore.use((store) =>
        store.listTokens(caller.account.id, { limit: limit + 1, ...(after !== undefined && { after }) })
      )
    )
    const shown = found.slice(0, limit)
    const last = shown.at(-1)
    return {
      tokens: shown.map(({ createdAt, id, name, rights, usedAt }) => ({
        id,
        name,
        rights,
        created: Field.formatTime(createdAt),
        ...(usedAt !== undefined && { lastUsed: Field.formatTime(usedAt) })
      })),
      ...(found.length > limit && last !== undefined && { next: tokensCursor.format(last.id) })
    }
  })
})

export const accountRoutes: ReadonlyArray<ManagementRoute<AccountStore | Hub>> = [
  accounts,
  create,
  change,
  credits,
  remove,
  tokens
]
