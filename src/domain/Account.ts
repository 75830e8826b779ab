import { hourMs } from "./Time.ts"

/** Rights of a subscriber, as the API lists them. The main password has all of them. */
export const rights = ["subscribe", "unsubscribe", "list", "retrieve", "publish", "xmpp"] as const

/** All rights of tokens. `admin` is the operator's: the data of all accounts. Only an account with `admin` has this right. */
export const tokenRights = [...rights, "admin"] as const

export type Right = typeof tokenRights[number]

export interface Account {
  readonly id: number
  /** A legal JID local part: lower case, no spaces, none of `"&'/:<>@`. */
  readonly login: string
  /** Bare JID for XMPP from the subscriber's own server. */
  readonly jid?: string
  /**
   * XMPP notifications have their items in the namespace of `pubsub`, several in one message, as the clients of the original service expect.
   * Absent: as the installation is set.
   */
  readonly legacyItemNamespace?: boolean
  /** May be negative; never blocks. */
  readonly credits: number
  readonly createdAt: number
  /** An operator's account. */
  readonly admin?: boolean
  /** Its credentials are refused. Its subscriptions go on. */
  readonly disabled?: boolean
  /** Maximum of its subscriptions; absent without one. Subscriptions beyond a lowered maximum stay. */
  readonly maxSubscriptions?: number
}

/** Highest maximum of subscriptions. */
export const maxMaxSubscriptions = 10_000_000

/** Changes of an account. An absent field stays, and `null` removes a value. */
export interface AccountChanges {
  /** Bare JID, or a domain: an external component. */
  readonly jid?: string | null
  readonly legacyItemNamespace?: boolean
  readonly admin?: boolean
  readonly disabled?: boolean
  readonly maxSubscriptions?: number | null
}

/** A credential of an account; the token itself is shown once and stored as its hash. */
export interface Token {
  readonly id: number
  readonly accountId: number
  readonly name: string
  readonly rights: ReadonlyArray<Right>
  readonly createdAt: number
  /** Epoch ms of the last use, exact to `tokenUseMs`. Absent for a token that nobody has used. */
  readonly usedAt?: number
}

/** Time within which a further use of a token is not noted. */
export const tokenUseMs = hourMs

/** The authenticated caller of an operation, with the rights of the credential. */
export interface Caller {
  readonly account: Account
  readonly rights: ReadonlySet<Right>
  /** Identifies the credential without its secret: a token, or an account with its current password. */
  readonly credential: string
}

/** The account of all subscriptions of the hub face. The stores have this account, and leave it out of lists. */
export const anonymous: Caller = {
  account: { id: 0, login: "(hub)", credits: 0, createdAt: 0 },
  rights: new Set(),
  credential: "hub"
}

/** The rights of a password. */
export const passwordRights = ({ admin }: Pick<Account, "admin">): ReadonlyArray<Right> =>
  admin === true ? tokenRights : rights

/** The rights of a token while its account is as it is: an account that is no operator's any more has no token with `admin`. */
export const effectiveRights = (
  { admin }: Pick<Account, "admin">,
  granted: ReadonlyArray<Right>
): ReadonlyArray<Right> => admin === true ? granted : granted.filter((right) => right !== "admin")

/** Rights as the bit set that is stored: bit i is `tokenRights[i]`. */
export const rightsToBits = (granted: Iterable<Right>): number => {
  let bits = 0
  for (const right of granted) bits |= 1 << tokenRights.indexOf(right)
  return bits
}

export const rightsFromBits = (bits: number): ReadonlyArray<Right> =>
  tokenRights.filter((_, i) => (bits & (1 << i)) !== 0)

const loginPattern = /^[a-z0-9][a-z0-9._+-]{0,62}$/

/** The problem of a login; undefined for a usable one. */
export const loginProblem = (login: string): string | undefined =>
  loginPattern.test(login)
    ? undefined
    : "A login has 1 to 63 characters, starts with a letter or digit, and holds only a-z, 0-9, '.', '_', '+' and '-'."

const minPasswordLength = 8
const maxPasswordLength = 1024

/** The problem of a new password; undefined for a usable one. */
export const passwordProblem = ({ length }: string): string | undefined =>
  length >= minPasswordLength && length <= maxPasswordLength
    ? undefined
    : `A password has ${minPasswordLength} to ${maxPasswordLength} characters; this one has ${length}.`

/** Names that a table can show and a database can store. */
const tokenName = /^\P{Cc}{0,100}$/u

/** The problem of a token's name; undefined for a usable one. */
export const tokenNameProblem = (name: string): string | undefined =>
  tokenName.test(name)
    ? undefined
    : `${
      JSON.stringify(name)
    } cannot be the name of a token. A name has at most 100 characters and no control characters.`

/** True for the name of a password in `Caller.credential`. */
export const isPassword = ({ credential }: Pick<Caller, "credential">): boolean => credential.startsWith("account:")

/** Ways to sign in without a secret of Windhover: a trusted proxy's header, and an identity provider. */
export type IdentitySource = "proxy" | "provider"

/** Name of an outside identity in `Caller.credential`. It stays while the account exists. */
export const nameOfIdentity = (source: IdentitySource, accountId: number): string => `${source}:${accountId}`

/** The source of a credential; undefined for a password and a token. */
export const identitySourceOf = ({ credential }: Pick<Caller, "credential">): IdentitySource | undefined =>
  (["proxy", "provider"] as const).find((source) => credential.startsWith(`${source}:`))

/** True for a sign-in of the account's owner: with the password, or as an outside identity. A token is a credential of a program. */
export const isOwner = (caller: Pick<Caller, "credential">): boolean =>
  isPassword(caller) || identitySourceOf(caller) !== undefined
