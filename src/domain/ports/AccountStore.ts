import { Context, type Effect, type Option, type Redacted, Schema } from "effect"
import type { Account, AccountChanges, Caller, Right, Token } from "#domain/Account.ts"
import type { StoreError } from "./StoreError.ts"

/** The login exists already. */
export class LoginTaken extends Schema.TaggedError<LoginTaken>()("LoginTaken", { login: Schema.String }) {}

/** Another account has the JID. */
export class JidTaken extends Schema.TaggedError<JidTaken>()("JidTaken", { jid: Schema.String }) {}

export class AccountStore extends Context.Service<AccountStore, {
  readonly create: (login: string, password: Redacted.Redacted) => Effect.Effect<Account, LoginTaken | StoreError>
  readonly find: (login: string) => Effect.Effect<Option.Option<Account>, StoreError>
  readonly load: (id: number) => Effect.Effect<Option.Option<Account>, StoreError>
  /** The account whose alternative JID it is. */
  readonly findByJid: (jid: string) => Effect.Effect<Option.Option<Account>, StoreError>
  /** False when there is no such login. */
  readonly update: (login: string, changes: AccountChanges) => Effect.Effect<boolean, JidTaken | StoreError>
  readonly list: Effect.Effect<ReadonlyArray<Account>, StoreError>
  /** False when there is no such login. */
  readonly setPassword: (login: string, password: Redacted.Redacted) => Effect.Effect<boolean, StoreError>
  /** None when login, password or token do not fit; takes equally long for a login that does not exist. */
  readonly authenticate: (login: string, secret: Redacted.Redacted) => Effect.Effect<Option.Option<Caller>, StoreError>
  /** What credentials of callers (`Caller.credential`) may do now; none of those that are revoked, or whose password was changed. */
  readonly rightsOf: (
    credentials: ReadonlyArray<string>
  ) => Effect.Effect<ReadonlyMap<string, ReadonlySet<Right>>, StoreError>
  /**
   * The token is made (or taken from `preset`), shown once and stored as its hash. A preset that the account has already is given the name and rights;
   * one of another account is a `defect`.
   */
  readonly createToken: (options: {
    readonly accountId: number
    readonly name: string
    readonly rights: ReadonlyArray<Right>
    readonly preset?: Redacted.Redacted
  }) => Effect.Effect<{ readonly token: Token; readonly secret: Redacted.Redacted }, StoreError>
  readonly listTokens: (accountId: number) => Effect.Effect<ReadonlyArray<Token>, StoreError>
  readonly revokeToken: (accountId: number, tokenId: number) => Effect.Effect<boolean, StoreError>
}>()("windhover/domain/ports/AccountStore") {}
