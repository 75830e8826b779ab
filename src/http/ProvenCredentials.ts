import { Redacted } from "effect"
import { hash, randomBytes } from "node:crypto"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import type { Credentials } from "./Credentials.ts"

const maxProven = 10_000

/**
 * Credentials that were correct before, as hashes with a key of this process: a memory dump holds no secret. One hash takes 1 µs.
 */
export class ProvenCredentials {
  readonly #processKey = randomBytes(32).toString("base64")
  readonly #hashes = new BoundedMap<string, true>(maxProven)

  hash({ login, secret }: Credentials): string {
    return hash("sha256", `${this.#processKey}${login}\0${Redacted.value(secret)}`, "base64")
  }

  has(key: string): boolean {
    return this.#hashes.has(key)
  }

  add(key: string): void {
    this.#hashes.set(key, true)
  }

  remove(key: string): void {
    this.#hashes.delete(key)
  }
}
