import { createHmac } from "node:crypto"

/**
 * The headers by which a subscriber checks that a notification is ours: HMAC of the body's bytes with the subscription's secret.
 *
 * `X-Hub-Signature` is what PubSubHubbub 0.3 clients read, and WebSub's name for it; sha256 stands beside it for who can choose.
 */
export const signatures = (body: Uint8Array, secret: string): ReadonlyArray<readonly [name: string, value: string]> => [
  ["X-Hub-Signature", `sha1=${hmac("sha1", body, secret)}`],
  ["X-Hub-Signature-256", `sha256=${hmac("sha256", body, secret)}`]
]

const hmac = (algorithm: string, body: Uint8Array, secret: string): string =>
  createHmac(algorithm, secret).update(body).digest("hex")
