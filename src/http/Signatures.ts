import { createHmac, timingSafeEqual } from "node:crypto"

/** Methods of a signature; a bare one is SHA-1, as PubSubHubbub has it. */
const methods = ["sha1", "sha256", "sha384", "sha512"] as const

/** Whether `METHOD=HEX` is the HMAC of the bytes; the time that it takes says nothing of the right one. */
export const isSignature = (signature: string, body: Uint8Array, secret: string): boolean => {
  const [, given = "sha1", hex = ""] = /^(?:(\w+)=)?([0-9a-f]{1,128})$/i.exec(signature.trim()) ?? []
  const method = methods.find((known) => known === given.toLowerCase())
  if (method === undefined) return false
  const expected = createHmac(method, secret).update(body).digest()
  const received = Buffer.from(hex, "hex")
  return received.length === expected.length && timingSafeEqual(received, expected)
}
