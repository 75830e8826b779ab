import { Clock, Effect, Option, Redacted } from "effect"
import { createHash, createHmac, randomBytes } from "node:crypto"
import { type Account, type Caller, type Right, rights } from "#domain/Account.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import type { Passwords } from "./Passwords.ts"

/** What a store knows of a login, and of the token when the secret is one of this login's. */
export interface Known {
  readonly account: Account
  readonly passwordHash: string
  readonly token?: { readonly id: number; readonly rights: ReadonlyArray<Right> }
}

export type Lookup = (login: string, tokenHash: Buffer) => Effect.Effect<Option.Option<Known>, StoreError>

/** 32 random bytes, safe in a URL and as a password of HTTP Basic. */
export const makeToken = Effect.sync(() => Redacted.make(randomBytes(32).toString("base64url")))

/** A token is as random as its hash: no salt and no work factor are needed. */
export const hashToken = (secret: Redacted.Redacted): Buffer =>
  createHash("sha256").update(Redacted.value(secret)).digest()

/**
 * Checks a secret as a token first (one look-up), then as the password.
 *
 * A password that fitted is remembered for some seconds under a keyed hash, since checking it is slow on purpose;
 * a change of password is noticed at once, since the stored hash is a part of that key.
 */
export const makeAuthenticate = (passwords: Passwords, lookup: Lookup) => {
  const remembered = makeMemory()
  return (login: string, secret: Redacted.Redacted): Effect.Effect<Option.Option<Caller>, StoreError> =>
    Effect.gen(function*() {
      const known = Option.getOrUndefined(yield* lookup(login, hashToken(secret)))
      if (known?.token !== undefined) {
        return Option.some(callerOf(known.account, known.token.rights, ofToken(known.token.id)))
      }
      const now = yield* Clock.currentTimeMillis
      const key = remembered.keyOf(secret, known?.passwordHash ?? "")
      if (known !== undefined && remembered.has(key, now)) return Option.some(ownerOf(known))
      const fits = yield* passwords.verify(secret, known?.passwordHash)
      if (known === undefined || !fits) return Option.none()
      remembered.add(key, now)
      return Option.some(ownerOf(known))
    })
}

/** Names of credentials, as `Caller.credential` has them. */
export const ofToken = (id: number): string => `token:${id}`

/** Another one after each change of the password, which nobody learns anything of. */
export const ofPassword = (accountId: number, passwordHash: string): string =>
  `account:${accountId}:${createHash("sha256").update(passwordHash).digest("base64url").slice(0, 16)}`

/** The numbers in such names. */
export const numbersOf = (credentials: ReadonlyArray<string>, kind: "token" | "account"): ReadonlyArray<number> =>
  credentials.flatMap((credential) => {
    const [named, number] = credential.split(":")
    return named === kind ? [Number(number)] : []
  })

const ownerOf = ({ account, passwordHash }: Known) => callerOf(account, rights, ofPassword(account.id, passwordHash))

const callerOf = (account: Account, granted: ReadonlyArray<Right>, credential: string): Caller => ({
  account,
  rights: new Set(granted),
  credential
})

/** Milliseconds. */
const rememberedFor = 10_000

const maxRemembered = 1_000

const makeMemory = () => {
  const processKey = randomBytes(32)
  const until = new Map<string, number>()
  return {
    keyOf: (secret: Redacted.Redacted, passwordHash: string) =>
      createHmac("sha256", processKey).update(passwordHash).update("\0").update(Redacted.value(secret)).digest(
        "base64"
      ),
    has: (key: string, now: number) => (until.get(key) ?? 0) > now,
    add: (key: string, now: number) => {
      until.delete(key)
      for (const [oldest, end] of until) {
        if (end > now && until.size < maxRemembered) break
        until.delete(oldest)
      }
      until.set(key, now + rememberedFor)
    }
  }
}
