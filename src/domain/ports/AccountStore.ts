import { Context, type Effect, type Option, type Redacted, Schema } from "effect"
import type { Account, AccountChanges, Caller, Right, Token } from "#domain/Account.ts"
import type { StoreError } from "./StoreError.ts"

/** The login exists already. */
export class LoginTaken extends Schema.TaggedError<LoginTaken>()("LoginTaken", { login: Schema.String }) {
  override get message(): string {
    return `The account ${JSON.stringify(this.login)} exists already.`
  }
}

/** Another account has the JID. */
export class JidTaken extends Schema.TaggedError<JidTaken>()("JidTaken", { jid: Schema.String }) {
  override get message(): string {
    return `Another account has the JID ${JSON.stringify(this.jid)}.`
  }
}

/** A page of accounts, oldest first. */
export interface AccountQuery {
  /** Part of the login. */
  readonly login?: string
  /** Id behind which the page begins. */
  readonly after?: number
  readonly limit: number
}

export interface AccountPage {
  readonly items: ReadonlyArray<Account>
  /** `after` of the next page; absent at the end. */
  readonly next?: number
}

export class AccountStore extends Context.Service<AccountStore, {
  readonly create: (
    login: string,
    password: Redacted.Redacted,
    options?: { readonly admin?: boolean }
  ) => Effect.Effect<Account, LoginTaken | StoreError>
  readonly find: (login: string) => Effect.Effect<Option.Option<Account>, StoreError>
  readonly load: (id: number) => Effect.Effect<Option.Option<Account>, StoreError>
  /** The account with this alternative JID. */
  readonly findByJid: (jid: string) => Effect.Effect<Option.Option<Account>, StoreError>
  /** False for an unknown login. An account that ends to be an operator's keeps no stored events of other accounts. */
  readonly update: (login: string, changes: AccountChanges) => Effect.Effect<boolean, JidTaken | StoreError>
  /** Adds credits, or takes them back, and enters the change in the ledger. Returns the balance; none for an unknown login. */
  readonly addCredits: (login: string, credits: number) => Effect.Effect<Option.Option<number>, StoreError>
  /** Deletes an account with its tokens, sessions, events and credits. An account with subscriptions stays. */
  readonly remove: (login: string) => Effect.Effect<"removed" | "unknown" | "subscribed", StoreError>
  /** Reads the rows of the page alone. */
  readonly list: (query: AccountQuery) => Effect.Effect<AccountPage, StoreError>
  /** False when there is no such login. */
  readonly setPassword: (login: string, password: Redacted.Redacted) => Effect.Effect<boolean, StoreError>
  /**
   * None for wrong credentials, and for a disabled account. An unknown login takes equally long as a wrong password. Notes the use of a
   * token in the background, at most once within `tokenUseMs`.
   */
  readonly authenticate: (login: string, secret: Redacted.Redacted) => Effect.Effect<Option.Option<Caller>, StoreError>
  /** Current rights by `Caller.credential`: of tokens, passwords and outside identities, which have the rights of the password. Revoked tokens, changed passwords and disabled accounts have no entry. */
  readonly rightsOf: (
    credentials: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyMap<string, ReadonlySet<Right>>, StoreError>
  /**
   * Creates a token (or takes `preset`), shows it once and stores its hash. An existing preset of the account gets the name and rights.
   * A preset of another account is a `Defect`.
   */
  readonly createToken: (options: {
    readonly accountId: number
    readonly name: string
    readonly rights: ReadonlyArray<Right>
    readonly preset?: Redacted.Redacted
  }) => Effect.Effect<{ readonly token: Token; readonly secret: Redacted.Redacted }, StoreError>
  /** Oldest first; all tokens, or a page behind the id `after`. */
  readonly listTokens: (
    accountId: number,
    page?: { readonly after?: number; readonly limit: number }
  ) => Effect.Effect<ReadonlyArray<Token>, StoreError>
  readonly revokeToken: (accountId: number, tokenId: number) => Effect.Effect<boolean, StoreError>
}>()("windhover/domain/ports/AccountStore") {}
