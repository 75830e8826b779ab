import { Clock, Effect, Option, Redacted } from "effect"
import { createHash, createHmac, hash, randomBytes } from "node:crypto"
import {
  type Account,
  type Caller,
  effectiveRights,
  type IdentitySource,
  passwordRights,
  type Right
} from "#domain/Account.ts"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import type { Passwords } from "./Passwords.ts"

/** Stored credentials of a login; with the token if the presented secret is a token of this login. */
export interface LoginCredentials {
  readonly account: Account
  readonly passwordHash: string
  readonly token?: { readonly id: number; readonly rights: ReadonlyArray<Right> }
}

type Lookup = (login: string, tokenHash: Buffer) => Effect.Effect<Option.Option<LoginCredentials>, StoreError>

/** 32 random bytes in base64url: safe in a URL and as a password of HTTP Basic. */
export const makeToken = Effect.sync(() => Redacted.make(randomBytes(32).toString("base64url")))

/** A token is random, so that its hash needs neither salt nor work factor. */
export const hashToken = (secret: Redacted.Redacted): Buffer =>
  createHash("sha256").update(Redacted.value(secret)).digest()

/**
 * Checks a secret as a token first (one look-up), then as the password.
 *
 * A correct password is remembered for 10 s under a keyed hash, because its check is slow on purpose. The key
 * includes the stored hash, so that a change of the password takes effect at once.
 *
 * The caller of correct credentials is remembered for a second, or until `generation` changes: the look-up takes as long as a whole request.
 */
export const makeAuthenticate = (passwords: Passwords, lookup: Lookup, generation: () => number) => {
  const remembered = makeMemory()
  const callers = makeCallerMemory(generation)
  const check = Effect.fnUntraced(function*(login: string, secret: Redacted.Redacted, now: number) {
    const stored = Option.getOrUndefined(yield* lookup(login, hashToken(secret)))
    if (stored?.token !== undefined) {
      return Option.some(callerOf(stored.account, stored.token.rights, nameOfToken(stored.token.id)))
    }
    const key = remembered.keyOf(secret, stored?.passwordHash ?? "")
    if (stored !== undefined && remembered.has(key, now)) return Option.some(ownerOf(stored))
    const isCorrect = yield* passwords.verify(secret, stored?.passwordHash)
    if (stored === undefined || !isCorrect) return Option.none()
    remembered.add(key, now)
    return Option.some(ownerOf(stored))
  })
  return (login: string, secret: Redacted.Redacted): Effect.Effect<Option.Option<Caller>, StoreError> =>
    Effect.flatMap(Clock.currentTimeMillis, (now) => {
      const key = callers.keyOf(login, secret)
      const known = callers.get(key, now)
      if (known !== undefined) return Effect.succeedSome(known)
      const startedIn = generation()
      return Effect.map(check(login, secret, now), (caller) => {
        if (Option.isSome(caller)) {
          callers.set(key, { caller: caller.value, generation: startedIn, until: now + callerMemoryMs })
        }
        return caller
      })
    })
}

/** Time for which a caller is remembered, in ms. Other runners, and commands with a database of their own, change accounts meanwhile. */
const callerMemoryMs = 1_000

const maxCallers = 10_000

/** A caller, as it was at the generation in which its look-up began. */
interface RememberedCaller {
  readonly caller: Caller
  readonly generation: number
  /** Epoch ms. */
  readonly until: number
}

/** The callers of the last second, under hashes with a key of this process: a memory dump holds no secret. */
const makeCallerMemory = (generation: () => number) => {
  const processKey = randomBytes(32).toString("base64")
  const callers = new BoundedMap<string, RememberedCaller>(maxCallers)
  return {
    keyOf: (login: string, secret: Redacted.Redacted): string =>
      hash("sha256", `${processKey}${login}\0${Redacted.value(secret)}`, "base64"),
    get: (key: string, now: number): Caller | undefined => {
      const found = callers.get(key)
      if (found === undefined || found.generation !== generation()) return undefined
      const leftMs = found.until - now // more than the whole time after the clock was set back
      return leftMs > 0 && leftMs <= callerMemoryMs ? found.caller : undefined
    },
    set: (key: string, caller: RememberedCaller): void => void callers.set(key, caller)
  }
}

/** Name of a token in `Caller.credential`. */
export const nameOfToken = (id: number): string => `token:${id}`

/** Name of a password in `Caller.credential`. It changes with the password and does not reveal the hash. */
export const nameOfPassword = (accountId: number, passwordHash: string): string =>
  `account:${accountId}:${createHash("sha256").update(passwordHash).digest("base64url").slice(0, 16)}`

/** The ids in names of one kind. */
export const idsOfCredentials = (
  names: ReadonlyArray<string>,
  kind: "token" | "account" | IdentitySource
): ReadonlyArray<number> =>
  names.flatMap((name) => {
    const [prefix, id] = name.split(":")
    return prefix === kind ? [Number(id)] : []
  })

const ownerOf = ({ account, passwordHash }: LoginCredentials) =>
  callerOf(account, passwordRights(account), nameOfPassword(account.id, passwordHash))

const callerOf = (account: Account, granted: ReadonlyArray<Right>, credential: string): Caller => ({
  account,
  rights: new Set(effectiveRights(account, granted)),
  credential
})

const rememberedForMs = 10_000
const maxRemembered = 1_000

const makeMemory = () => {
  const processKey = randomBytes(32)
  /** Epoch ms until which a password counts as checked. */
  const until = new BoundedMap<string, number>(maxRemembered)
  return {
    keyOf: (secret: Redacted.Redacted, passwordHash: string) =>
      createHmac("sha256", processKey).update(passwordHash).update("\0").update(Redacted.value(secret)).digest(
        "base64"
      ),
    has: (key: string, now: number) => (until.get(key) ?? 0) > now,
    add: (key: string, now: number) => {
      until.dropOldestWhile((end) => end <= now)
      until.set(key, now + rememberedForMs)
    }
  }
}
