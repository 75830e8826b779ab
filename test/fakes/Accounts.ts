import { Effect, Option, type Redacted } from "effect"
import {
  type Account,
  type AccountChanges,
  effectiveRights,
  nameOfIdentity,
  passwordRights,
  type Right,
  type Token,
  tokenUseMs
} from "#domain/Account.ts"
import { AccountStore, JidTaken, LoginTaken } from "#domain/ports/AccountStore.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import {
  hashToken,
  type LoginCredentials,
  makeAuthenticate,
  makeToken,
  nameOfPassword,
  nameOfToken
} from "#layers/sql/Credentials.ts"
import * as Passwords from "#layers/sql/Passwords.ts"
import { operation, type State } from "./State.ts"

export const make = (state: State): AccountStore["Service"] => {
  const passwords = Passwords.make(Passwords.cheap)
  let lookUps = 0
  return AccountStore.of({
    create: Effect.fn("AccountStore.create")(function*(
      login: string,
      password: Redacted.Redacted,
      { admin = false }: { readonly admin?: boolean } = {}
    ) {
      const passwordHash = yield* passwords.hash(password)
      const account = yield* operation(state, (now) => create(state, login, passwordHash, now, admin))
      return account ?? (yield* new LoginTaken({ login }))
    }),
    find: Effect.fn("AccountStore.find")((login) =>
      operation(state, () => Option.fromNullishOr(holderOf(state, login)?.account))
    ),
    load: Effect.fn("AccountStore.load")((id) =>
      operation(state, () => Option.fromNullishOr(state.accounts.get(id)?.account))
    ),
    findByJid: Effect.fn("AccountStore.ofJid")((jid) =>
      operation(
        state,
        () => Option.fromNullishOr([...state.accounts.values()].find(({ account }) => account.jid === jid)?.account)
      )
    ),
    update: Effect.fn("AccountStore.change")(function*(login: string, changes: AccountChanges) {
      const changed = yield* operation(state, () => change(state, login, changes))
      return changed ?? (yield* new JidTaken({ jid: changes.jid ?? "" }))
    }),
    addCredits: Effect.fn("AccountStore.addCredits")((login, credits) =>
      operation(state, () => {
        const holder = holderOf(state, login)
        if (holder === undefined) return Option.none()
        holder.account = { ...holder.account, credits: holder.account.credits + credits }
        return Option.some(holder.account.credits)
      })
    ),
    remove: Effect.fn("AccountStore.remove")((login) => operation(state, () => remove(state, login))),
    list: Effect.fn("AccountStore.list")(({ after = 0, limit, login = "" }) =>
      operation(state, () => {
        const found = [...state.accounts.values()].map(({ account }) => account)
          .filter((account) => account.id > after && account.login.includes(login))
        const items = found.slice(0, limit)
        const last = items.at(-1)
        return { items, ...(found.length > limit && last !== undefined && { next: last.id }) }
      })
    ),
    setPassword: Effect.fn("AccountStore.setPassword")(function*(login: string, password: Redacted.Redacted) {
      const passwordHash = yield* passwords.hash(password)
      return yield* operation(state, () => {
        const holder = holderOf(state, login)
        if (holder !== undefined) holder.passwordHash = passwordHash
        return holder !== undefined
      })
    }),
    authenticate: Effect.fn("AccountStore.authenticate")(
      makeAuthenticate(
        passwords,
        (login, tokenHash) =>
          operation(state, (now) => Option.fromNullishOr(known(state, login, tokenHash.toString("hex"), now))),
        () => lookUps++ // remembers no caller
      )
    ),
    rightsOf: Effect.fn("AccountStore.rightsOf")((credentials) =>
      operation(state, () => {
        const standing = new Map<string, ReadonlySet<Right>>([
          ...[...state.tokens.values()].filter(({ token }) =>
            state.accounts.get(token.accountId)?.account.disabled !== true
          ).map(({ token }) =>
            [
              nameOfToken(token.id),
              new Set(
                effectiveRights({ admin: state.accounts.get(token.accountId)?.account.admin === true }, token.rights)
              )
            ] as const
          ),
          ...[...state.accounts.values()].filter(({ account }) => account.disabled !== true).flatMap((
            { account, passwordHash }
          ) =>
            [
              nameOfPassword(account.id, passwordHash),
              nameOfIdentity("proxy", account.id),
              nameOfIdentity("provider", account.id)
            ].map((name) => [name, new Set(passwordRights(account))] as const)
          )
        ])
        return new Map([...standing].filter(([credential]) => credentials.includes(credential)))
      })
    ),
    createToken: Effect.fn("AccountStore.createToken")(function*(options: {
      readonly accountId: number
      readonly name: string
      readonly rights: ReadonlyArray<Right>
      readonly preset?: Redacted.Redacted
    }) {
      const secret = options.preset ?? (yield* makeToken)
      const hash = hashToken(secret).toString("hex")
      const token = yield* operation(state, (now) => issue(state, options, hash, now))
      return token === undefined ? yield* refused : { token, secret }
    }),
    listTokens: Effect.fn("AccountStore.tokens")((accountId, { after = 0, limit = Infinity } = { limit: Infinity }) =>
      operation(
        state,
        () =>
          [...state.tokens.values()].flatMap(({ token }) =>
            token.accountId === accountId && token.id > after ? [token] : []
          ).slice(0, limit)
      )
    ),
    revokeToken: Effect.fn("AccountStore.revokeToken")((accountId, tokenId) =>
      operation(state, () => state.tokens.get(tokenId)?.token.accountId === accountId && state.tokens.delete(tokenId))
    )
  })
}

const refused = new StoreError({
  reason: { _tag: "Defect", message: "There is no such account, or the token is another account's." }
})

const holderOf = (state: State, login: string) =>
  [...state.accounts.values()].find(({ account }) => account.login === login)

const create = (
  state: State,
  login: string,
  passwordHash: string,
  createdAt: number,
  admin: boolean
): Account | undefined => {
  if (holderOf(state, login) !== undefined) return undefined
  const account: Account = { id: state.serial(), login, credits: 0, createdAt, ...(admin && { admin: true }) }
  state.accounts.set(account.id, { account, passwordHash })
  return account
}

/** Undefined when another account has the JID. */
const change = (state: State, login: string, changes: AccountChanges): boolean | undefined => {
  const holder = holderOf(state, login)
  const owner = [...state.accounts.values()].find(({ account }) => account.jid === (changes.jid ?? ""))
  if (owner !== undefined && owner !== holder) return undefined
  if (holder === undefined) return false
  const { jid: oldJid, legacyItemNamespace: oldLegacy, admin: oldAdmin, disabled, maxSubscriptions, ...rest } =
    holder.account
  const jid = changes.jid === undefined ? oldJid : changes.jid ?? undefined
  const limit = changes.maxSubscriptions === undefined ? maxSubscriptions : changes.maxSubscriptions ?? undefined
  const legacyItemNamespace = changes.legacyItemNamespace ?? oldLegacy
  holder.account = {
    ...rest,
    ...(jid === undefined ? {} : { jid }),
    ...(legacyItemNamespace === undefined ? {} : { legacyItemNamespace }),
    ...(changes.admin ?? oldAdmin === true ? { admin: true } : {}),
    ...(changes.disabled ?? disabled === true ? { disabled: true } : {}),
    ...(limit === undefined ? {} : { maxSubscriptions: limit })
  }
  return true
}

const known = (state: State, login: string, tokenHash: string, now: number): LoginCredentials | undefined => {
  const holder = holderOf(state, login)
  if (holder === undefined || holder.account.disabled === true) return undefined
  const issued = [...state.tokens.values()].find(({ hash, token }) =>
    hash === tokenHash && token.accountId === holder.account.id
  )
  const token = issued?.token
  if (issued !== undefined && now - (issued.token.usedAt ?? -Infinity) >= tokenUseMs) {
    state.tokens.set(issued.token.id, { ...issued, token: { ...issued.token, usedAt: now } })
  }
  return { ...holder, ...(token !== undefined && { token }) }
}

const issue = (
  state: State,
  wanted: { readonly accountId: number; readonly name: string; readonly rights: ReadonlyArray<Right> },
  hash: string,
  now: number
): Token | undefined => {
  const existing = [...state.tokens.values()].find((issued) => issued.hash === hash)?.token
  if (!state.accounts.has(wanted.accountId) || (existing?.accountId ?? wanted.accountId) !== wanted.accountId) {
    return undefined
  }
  const token: Token = {
    id: existing?.id ?? state.serial(),
    accountId: wanted.accountId,
    name: wanted.name,
    rights: wanted.rights,
    createdAt: existing?.createdAt ?? now,
    ...(existing?.usedAt !== undefined && { usedAt: existing.usedAt })
  }
  state.tokens.set(token.id, { token, hash })
  return token
}

const remove = (state: State, login: string): "removed" | "unknown" | "subscribed" => {
  const id = holderOf(state, login)?.account.id
  if (id === undefined) return "unknown"
  if ([...state.subscriptions.values()].some(({ subscription }) => subscription.accountId === id)) return "subscribed"
  for (const [key, { token }] of state.tokens) if (token.accountId === id) state.tokens.delete(key)
  for (const [key, { accountId }] of state.sessions) if (accountId === id) state.sessions.delete(key)
  return state.accounts.delete(id) ? "removed" : "unknown"
}
