import { type Account, fromBits, type Token } from "#domain/Account.ts"
import type { LoginCredentials } from "./Credentials.ts"
import { millis } from "./Values.ts"

export interface AccountRow {
  readonly id: number
  readonly login: string
  readonly jid: string | null
  readonly legacy_item_namespace: boolean
  readonly credits: number
  readonly created_at: number
}

/** Columns of an `AccountRow` from accounts `a`. */
export const accountSelect = `a.id, a.login, a.jid, a.legacy_item_namespace, a.credits::float8 as credits, ${
  millis("a.created_at")
} as created_at`

export const accountOf = (row: AccountRow): Account => ({
  id: row.id,
  login: row.login,
  ...(row.jid === null ? {} : { jid: row.jid }),
  ...(row.legacy_item_namespace ? { legacyItemNamespace: true } : {}),
  credits: row.credits,
  createdAt: row.created_at
})

export interface TokenRow {
  readonly id: number
  readonly account: number
  readonly name: string
  readonly rights: number
  readonly created_at: number
}

/** Columns of a `TokenRow` from tokens `t`. */
export const tokenSelect = `t.id, t.account_id as account, t.name, t.rights, ${millis("t.created_at")} as created_at`

export const tokenOf = (row: TokenRow): Token => ({
  id: row.id,
  accountId: row.account,
  name: row.name,
  rights: fromBits(row.rights),
  createdAt: row.created_at
})

/** An account with its matching token, if any. */
export interface CredentialRow extends AccountRow {
  /** Position of the look-up in its batch, from 1. */
  readonly position: number
  readonly password_hash: string
  readonly token: number | null
  readonly granted: number | null
}

export const credentialsOf = (row: CredentialRow): LoginCredentials => ({
  account: accountOf(row),
  passwordHash: row.password_hash,
  ...(row.token === null ? {} : { token: { id: row.token, rights: fromBits(row.granted ?? 0) } })
})
