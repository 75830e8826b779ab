import { hash, timingSafeEqual } from "node:crypto"

/** Returns a comparison with a secret whose time tells nothing about the secret. */
export const isEqualTo = (secret: string): (candidate: string) => boolean => {
  const expected = digest(secret)
  return (candidate) => timingSafeEqual(digest(candidate), expected)
}

/** Digests have equal lengths, as `timingSafeEqual` requires. */
const digest = (text: string): Buffer => hash("sha256", text, "buffer")
