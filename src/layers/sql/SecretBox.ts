import { Context, Result } from "effect"
import { createCipheriv, createDecipheriv, createHmac, createSecretKey, type KeyObject, randomBytes } from "node:crypto"

/** A stored secret that no key of this process decrypts: the key is missing, or the bytes are damaged. */
export class UnreadableSecret {
  readonly message: string
  constructor(message: string) {
    this.message = message
  }
}

/**
 * Encrypts secrets for the database with AES-256-GCM.
 *
 * `purpose` names the column and the owner of a secret. A sealed secret opens under its own purpose alone, so that nobody with access to the
 * database can move a secret into another row or column.
 */
export interface Box {
  /** Identifies the key that seals: 4 bytes. */
  readonly keyId: Uint8Array
  /** Seals with the first key. */
  readonly seal: (text: string, purpose: string) => Uint8Array
  /** Opens with any of the keys. */
  readonly open: (sealed: Uint8Array, purpose: string) => Result.Result<string, UnreadableSecret>
  /** Equal for equal texts, but tells nothing about the text without the key. */
  readonly digest: (text: string) => Uint8Array
}

/** See `Box`. `EncryptionKeys` reads the keys. */
export class SecretBox extends Context.Service<SecretBox, Box>()("windhover/layers/sql/SecretBox") {}

const cipher = "aes-256-gcm"

/** First byte of a sealed secret. The id of the key, the nonce, the encrypted text and the tag follow. */
const version = 1

const idBytes = 4
const nonceBytes = 12
const tagBytes = 16
const headBytes = 1 + idBytes + nonceBytes

/** SQL expression: the id of the key that sealed a column, to compare with `Box.keyId`. */
export const keyIdOf = (column: string): string => `substring(${column} from 2 for ${idBytes})`

export const idOf = (key: Uint8Array): Buffer => derive(key, "key id").subarray(0, idBytes)

const derive = (key: Uint8Array, use: string): Buffer => createHmac("sha256", key).update(`windhover ${use}`).digest()

/** A box of one or more keys of 32 bytes: the first one seals, and each one opens. Without a key it opens and seals nothing. */
export const make = (keys: ReadonlyArray<Uint8Array>): Box => {
  const keysById = new Map(keys.toReversed().map((key) => [idOf(key).toString("hex"), createSecretKey(key)]))
  const [first] = keys
  const firstKey = first === undefined ? undefined : createSecretKey(first)
  const current = (): KeyObject => {
    if (firstKey === undefined) throw new Error("A secret was to be stored without an encryption key.")
    return firstKey
  }
  const keyId = first === undefined ? new Uint8Array(idBytes) : idOf(first)
  const digestKey = first === undefined ? undefined : derive(first, "digest")
  return {
    keyId,
    seal: (text, purpose) => {
      const nonce = randomBytes(nonceBytes)
      const encrypting = createCipheriv(cipher, current(), nonce, { authTagLength: tagBytes })
      encrypting.setAAD(Buffer.from(purpose))
      const encrypted = [encrypting.update(text, "utf8"), encrypting.final()]
      return Buffer.concat([Uint8Array.of(version), keyId, nonce, ...encrypted, encrypting.getAuthTag()])
    },
    open: (sealed, purpose) => {
      const bytes = Buffer.from(sealed.buffer, sealed.byteOffset, sealed.byteLength)
      if (bytes.length < headBytes + tagBytes || bytes[0] !== version) return damaged
      const id = bytes.toString("hex", 1, 1 + idBytes)
      const key = keysById.get(id)
      if (key === undefined) {
        return Result.fail(new UnreadableSecret(`It was encrypted with the key ${id}, which is not set.`))
      }
      return decrypt(key, bytes, purpose)
    },
    digest: (text) => createHmac("sha256", digestKey ?? current()).update(text).digest()
  }
}

const damaged = Result.fail(new UnreadableSecret("Its bytes in the database are damaged."))

const decrypt = (key: KeyObject, bytes: Buffer, purpose: string): Result.Result<string, UnreadableSecret> => {
  const decrypting = createDecipheriv(cipher, key, bytes.subarray(1 + idBytes, headBytes), { authTagLength: tagBytes })
  decrypting.setAAD(Buffer.from(purpose))
  decrypting.setAuthTag(bytes.subarray(-tagBytes))
  const text = decrypting.update(bytes.subarray(headBytes, -tagBytes))
  try {
    decrypting.final()
    return Result.succeed(text.toString("utf8"))
  } catch {
    // the tag differs: other bytes, another purpose, or another key with this id
    return damaged
  }
}
