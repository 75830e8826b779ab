import { createHmac } from "node:crypto"
import type { SignatureMethod } from "#domain/Subscription.ts"

/**
 * Headers with which a subscriber verifies a notification: the HMAC of the body under the subscription's secret.
 *
 * `X-Hub-Signature` is the header of PubSubHubbub 0.3 and of WebSub. It uses the subscriber's method. Without a choice of method it uses
 * SHA-1, and `X-Hub-Signature-256` adds SHA-256.
 */
export const signatureHeaders = (
  body: Uint8Array,
  secret: string,
  method?: SignatureMethod
): ReadonlyArray<readonly [name: string, value: string]> =>
  method === undefined
    ? [["X-Hub-Signature", hmac("sha1", body, secret)], ["X-Hub-Signature-256", hmac("sha256", body, secret)]]
    : [["X-Hub-Signature", hmac(method, body, secret)]]

const hmac = (method: SignatureMethod, body: Uint8Array, secret: string): string =>
  `${method}=${createHmac(method, secret).update(body).digest("hex")}`
