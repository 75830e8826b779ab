import { createHmac, timingSafeEqual } from "node:crypto"

/** Hash methods of a signature. A signature without a method is SHA-1, as in PubSubHubbub. */
const hashMethods = ["sha1", "sha256", "sha384", "sha512"] as const

/** True when `METHOD=HEX` is the HMAC of the body. The comparison takes constant time. */
export const isSignature = (signature: string, body: Uint8Array, secret: string): boolean => {
  const [, name = "sha1", hex = ""] = /^(?:(\w+)=)?([0-9a-f]{1,128})$/i.exec(signature.trim()) ?? []
  const method = hashMethods.find((known) => known === name.toLowerCase())
  if (method === undefined) return false
  const expected = createHmac(method, secret).update(body).digest()
  const received = Buffer.from(hex, "hex")
  return received.length === expected.length && timingSafeEqual(received, expected)
}
