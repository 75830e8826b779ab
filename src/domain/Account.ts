/** What a token may do; the main password may do everything. */
export const rights = ["subscribe", "unsubscribe", "list", "retrieve", "publish", "xmpp"] as const

export type Right = typeof rights[number]

export interface Account {
  readonly id: number
  /** A legal JID local part: lower case, no spaces, none of `"&'/:<>@`. */
  readonly login: string
  /** Bare JID for XMPP from the subscriber's own server. */
  readonly jid?: string
  /** Items of its XMPP notifications are in the namespace of `pubsub`, as the original service's published clients want them. */
  readonly legacyItemNamespace?: true
  /** May be negative; never blocks. */
  readonly credits: number
  readonly createdAt: number
}

/** What can be changed of an account; what is not named stays, `null` takes it away. */
export interface AccountChanges {
  /** Bare JID, or a domain: an external component. */
  readonly jid?: string | null
  readonly legacyItemNamespace?: boolean
}

/** A credential of an account; the token itself is shown once and stored as its hash. */
export interface Token {
  readonly id: number
  readonly accountId: number
  readonly name: string
  readonly rights: ReadonlyArray<Right>
  readonly createdAt: number
}

/** Who is calling, and what the credential lets them do. */
export interface Caller {
  readonly account: Account
  readonly rights: ReadonlySet<Right>
  /** Identifies the credential: a token, or an account with the password that it has at the time; no secret. */
  readonly credential: string
}

/** Who subscribes on the hub face: nobody in particular. The stores know the account without being told, and show it to nobody. */
export const anonymous: Caller = {
  account: { id: 0, login: "(hub)", credits: 0, createdAt: 0 },
  rights: new Set(),
  credential: "hub"
}

/** Rights as the bit set that is stored: bit i is `rights[i]`. */
export const toBits = (granted: Iterable<Right>): number => {
  let bits = 0
  for (const right of granted) bits |= 1 << rights.indexOf(right)
  return bits
}

export const fromBits = (bits: number): ReadonlyArray<Right> => rights.filter((_, i) => (bits & (1 << i)) !== 0)

const loginPattern = /^[a-z0-9][a-z0-9._+-]{0,62}$/

/** Why a login cannot be used, or undefined when it can. */
export const loginProblem = (login: string): string | undefined =>
  loginPattern.test(login)
    ? undefined
    : "A login has 1 to 63 characters, starts with a letter or digit, and holds only a-z, 0-9, '.', '_', '+' and '-'."
