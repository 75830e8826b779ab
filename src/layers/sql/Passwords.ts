import { Effect, Redacted, Semaphore } from "effect"
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto"
import { StoreError } from "#domain/ports/StoreError.ts"

/** Work factors of scrypt (RFC 7914): `n` a power of two; 128 × n × r bytes of memory for each hash. */
export interface Cost {
  readonly n: number
  readonly r: number
  readonly p: number
}

/** The cost that is recommended for interactive logins: 32 MiB, and 0.1 to 0.2 s of a core. */
export const interactive: Cost = { n: 2 ** 15, r: 8, p: 1 }

/** For tests whose point is something else. */
export const cheap: Cost = { n: 16, r: 1, p: 1 }

export interface Passwords {
  /** `scrypt$n$r$p$salt$key`, salt and key in base64url. */
  readonly hash: (password: Redacted.Redacted) => Effect.Effect<string, StoreError>
  /** With `undefined` in place of a hash it is false, after the same time. */
  readonly verify: (password: Redacted.Redacted, hash: string | undefined) => Effect.Effect<boolean, StoreError>
}

const keyLength = 32

/** Threads that hash at once; libuv has four, and files and compression need some as well. */
const concurrency = 2

/** Beyond it a stranger's guesses would only delay everybody's logins by seconds. */
const maxWaiting = 64

export const make = (cost: Cost): Passwords => {
  const turns = Semaphore.makeUnsafe(concurrency)
  const nobody = render(cost, randomBytes(16), randomBytes(keyLength))
  let waiting = 0
  const derive = (password: Redacted.Redacted, salt: Buffer, by: Cost) =>
    Effect.suspend(() => {
      if (waiting >= maxWaiting) return overloaded
      waiting++
      return Effect.ensuring(turns.withPermit(deriveKey(password, salt, by)), Effect.sync(() => void waiting--))
    })
  return {
    hash: (password) =>
      Effect.suspend(() => {
        const salt = randomBytes(16)
        return Effect.map(derive(password, salt, cost), (key) => render(cost, salt, key))
      }),
    verify: (password, hash) => {
      const stored = parse(hash ?? nobody)
      if (stored === undefined) return damaged
      return Effect.map(
        derive(password, stored.salt, stored.cost),
        (key) => timingSafeEqual(key, stored.key) && hash !== undefined
      )
    }
  }
}

const overloaded = Effect.fail(
  new StoreError({
    reason: { _tag: "Unavailable", message: "Too many passwords wait to be checked; use a token, or try again." }
  })
)

const damaged = Effect.fail(
  new StoreError({ reason: { _tag: "Defect", message: "A stored password hash cannot be read." } })
)

const render = ({ n, r, p }: Cost, salt: Buffer, key: Buffer) =>
  ["scrypt", n, r, p, salt.toString("base64url"), key.toString("base64url")].join("$")

const parse = (hash: string) => {
  const [scheme, n, r, p, salt, text] = hash.split("$")
  if (scheme !== "scrypt" || salt === undefined || text === undefined) return undefined
  const key = Buffer.from(text, "base64url")
  if (key.byteLength !== keyLength) return undefined
  return { cost: { n: Number(n), r: Number(r), p: Number(p) }, salt: Buffer.from(salt, "base64url"), key }
}

const deriveKey = (password: Redacted.Redacted, salt: Buffer, { n, r, p }: Cost) =>
  Effect.callback<Buffer, StoreError>((resume) => {
    // Node refuses 32 MiB and more unless it is told; the factor leaves room for its own bookkeeping.
    const maxmem = 256 * n * r + 1024 * 1024
    scrypt(
      Redacted.value(password),
      salt,
      keyLength,
      { N: n, r, p, maxmem },
      (error, key) => resume(error === null ? Effect.succeed(key) : Effect.fail(failed(error)))
    )
  })

const failed = (error: Error) =>
  new StoreError({ reason: { _tag: "Defect", message: `scrypt failed: ${error.message}` } })
