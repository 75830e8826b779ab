import { Effect, Redacted, Semaphore } from "effect"
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"
import { StoreError } from "#domain/ports/StoreError.ts"

/** Work factors of scrypt (RFC 7914). `n` is a power of two; each hash takes 128 × n × r bytes of memory. */
export interface Cost {
  readonly n: number
  readonly r: number
  readonly p: number
}

/** The recommended cost for interactive logins: 32 MiB, and 0.1 to 0.2 s of a core. */
export const interactive: Cost = { n: 2 ** 15, r: 8, p: 1 }

/** For tests of other subjects. */
export const cheap: Cost = { n: 16, r: 1, p: 1 }

export interface Passwords {
  /** Returns `scrypt$n$r$p$salt$key` with salt and key in base64url. */
  readonly hash: (password: Redacted.Redacted) => Effect.Effect<string, StoreError>
  /** Without a hash the result is false after the same time, so that the time does not reveal a login. */
  readonly verify: (password: Redacted.Redacted, hash: string | undefined) => Effect.Effect<boolean, StoreError>
}

const keyLength = 32

/** Threads that hash at the same time. libuv has four, and files and compression need some as well. */
const maxThreads = 2

/** With more waiting checks, an attacker would delay all logins by seconds. */
const maxWaitingChecks = 64

export const make = (cost: Cost): Passwords => {
  const semaphore = Semaphore.makeUnsafe(maxThreads)
  const placeholder = formatHash(cost, randomBytes(16), randomBytes(keyLength))
  let waiting = 0
  const derive = (password: Redacted.Redacted, salt: Buffer, by: Cost) =>
    Effect.suspend(() => {
      if (waiting >= maxWaitingChecks) return tooManyChecks
      waiting++
      return Effect.ensuring(semaphore.withPermit(deriveKey(password, salt, by)), Effect.sync(() => void waiting--))
    })
  return {
    hash: (password) =>
      Effect.suspend(() => {
        const salt = randomBytes(16)
        return Effect.map(derive(password, salt, cost), (key) => formatHash(cost, salt, key))
      }),
    verify: (password, hash) => {
      const stored = parseHash(hash ?? placeholder)
      if (stored === undefined) return unreadableHash
      return Effect.map(
        derive(password, stored.salt, stored.cost),
        (key) => timingSafeEqual(key, stored.key) && hash !== undefined
      )
    }
  }
}

const tooManyChecks = Effect.fail(
  new StoreError({
    reason: { _tag: "Unavailable", message: "Too many passwords wait to be checked; use a token, or try again." }
  })
)

const unreadableHash = Effect.fail(
  new StoreError({ reason: { _tag: "Defect", message: "A stored password hash cannot be read." } })
)

const formatHash = ({ n, r, p }: Cost, salt: Buffer, key: Buffer) =>
  ["scrypt", n, r, p, salt.toString("base64url"), key.toString("base64url")].join("$")

const parseHash = (hash: string) => {
  const [scheme, n, r, p, salt, text] = hash.split("$")
  if (scheme !== "scrypt" || salt === undefined || text === undefined) return undefined
  const key = Buffer.from(text, "base64url")
  if (key.byteLength !== keyLength) return undefined
  return { cost: { n: Number(n), r: Number(r), p: Number(p) }, salt: Buffer.from(salt, "base64url"), key }
}

const deriveKey = (password: Redacted.Redacted, salt: Buffer, { n, r, p }: Cost) =>
  Effect.callback<Buffer, StoreError>((resume) => {
    // By default Node refuses 32 MiB and more. Twice the memory of the hash leaves room for Node's own use.
    const maxmem = 256 * n * r + 1024 * 1024
    scrypt(
      Redacted.value(password),
      salt,
      keyLength,
      { N: n, r, p, maxmem },
      (error, key) => resume(error === null ? Effect.succeed(key) : Effect.fail(scryptError(error)))
    )
  })

const scryptError = (error: Error) =>
  new StoreError({ reason: { _tag: "Defect", message: `scrypt failed: ${error.message}` } })
