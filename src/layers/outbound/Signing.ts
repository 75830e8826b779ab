import { createHmac } from "node:crypto"
import type { SignatureMethod } from "#domain/Subscription.ts"

/**
 * The headers by which a subscriber checks that a notification is ours: HMAC of the body's bytes with the subscription's secret.
 *
 * `X-Hub-Signature` is what PubSubHubbub 0.3 clients read, and WebSub's name for it. Its method is the one that the subscriber chose;
 * without a choice it is SHA-1, and SHA-256 stands beside it.
 */
export const signatures = (
  body: Uint8Array,
  secret: string,
  method?: SignatureMethod
): ReadonlyArray<readonly [name: string, value: string]> =>
  method === undefined
    ? [["X-Hub-Signature", hmac("sha1", body, secret)], ["X-Hub-Signature-256", hmac("sha256", body, secret)]]
    : [["X-Hub-Signature", hmac(method, body, secret)]]

const hmac = (method: SignatureMethod, body: Uint8Array, secret: string): string =>
  `${method}=${createHmac(method, secret).update(body).digest("hex")}`
