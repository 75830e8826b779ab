import { countOf } from "#domain/Count.ts"
import { Result } from "effect"
import { badParameter, type Refusal } from "#domain/Refusal.ts"

/** Prefix of the secrets of Standard Webhooks. Base64 follows. */
export const prefix = "whsec_"

/** Bytes of a `whsec_` secret, as Standard Webhooks demands. */
const minKeyBytes = 24
const maxKeyBytes = 64

/** Bytes of a generated secret. */
export const generatedKeyBytes = 32

/** The spelling of a key as a secret of Standard Webhooks. */
export const secretOf = (key: Uint8Array): string => `${prefix}${Buffer.from(key).toString("base64")}`

/**
 * Key of `webhook-signature`. A `whsec_` secret is Base64; any other secret counts as its UTF-8 bytes.
 *
 * `X-Hub-Signature` takes every secret as it is.
 */
export const keyOf = (secret: string): Uint8Array =>
  secret.startsWith(prefix) ? Buffer.from(secret.slice(prefix.length), "base64") : Buffer.from(secret)

/**
 * Checks a `hub.secret`. Receivers reject a `whsec_` secret of wrong Base64, or read it in different ways, so that the key would be
 * uncertain. The sentences do not repeat the secret.
 */
export const check = (secret: string, parameter = "hub.secret"): Result.Result<string, Refusal> => {
  if (!secret.startsWith(prefix)) return Result.succeed(secret)
  const key = keyOf(secret)
  if (secretOf(key) !== secret) {
    return Result.fail(badParameter(
      parameter,
      `${parameter} begins with ${prefix}, but the rest is no Base64 with padding; send ${prefix} and the Base64 of ${minKeyBytes} to ${maxKeyBytes} random bytes, or a secret without this prefix.`
    ))
  }
  return key.length < minKeyBytes || key.length > maxKeyBytes
    ? Result.fail(badParameter(
      parameter,
      `${parameter} is a ${prefix} secret of ${
        countOf(key.length, "byte")
      }; ${minKeyBytes} to ${maxKeyBytes} bytes in Base64 are accepted.`
    ))
    : Result.succeed(secret)
}
