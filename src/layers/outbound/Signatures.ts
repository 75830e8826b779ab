import { createHmac } from "node:crypto"
import { prefix } from "#domain/delivery/WebhookSecret.ts"
import type { Parcel } from "#domain/ports/Deliverer.ts"
import type { SignatureMethod } from "#domain/Subscription.ts"

type Signed = Pick<Parcel, "body" | "id" | "previousSecret" | "secret" | "signature">

/**
 * Headers by which a subscriber verifies a notification, as names and values by turns; empty without a secret.
 *
 * `X-Hub-Signature` is the header of PubSubHubbub 0.3 and of WebSub. It uses the subscriber's method. Without a choice of method it uses
 * SHA-1, and `X-Hub-Signature-256` adds SHA-256. The other three headers are those of Standard Webhooks. During a rotation,
 * `webhook-signature` also has a signature by the previous secret. `X-Hub-Signature` has room for one, which is the new one.
 */
export const signatureHeaders = (parcel: Signed, nowMs: number): ReadonlyArray<string> => {
  const { body, id, previousSecret, secret, signature } = parcel
  if (secret === undefined) return []
  const seconds = Math.floor(nowMs / 1000)
  const standard = standardSignature(secret, id, seconds, body)
  return [
    ...hubSignatures(body, secret, signature),
    "webhook-id",
    id,
    "webhook-timestamp",
    String(seconds),
    "webhook-signature",
    previousSecret === undefined ? standard : `${standard} ${standardSignature(previousSecret, id, seconds, body)}`
  ]
}

const standardSignature = (secret: string, id: string, seconds: number, body: Uint8Array): string =>
  `v1,${standardHmac(secret).update(`${id}.${seconds}.`).update(body).digest("base64")}`

/** The key stays a string, because Node takes 20 µs longer for a key of bytes. */
const standardHmac = (secret: string) =>
  secret.startsWith(prefix)
    ? createHmac("sha256", secret.slice(prefix.length), { encoding: "base64" })
    : createHmac("sha256", secret)

const hubSignatures = (body: Uint8Array, secret: string, method?: SignatureMethod): ReadonlyArray<string> =>
  method === undefined
    ? ["X-Hub-Signature", hmac("sha1", body, secret), "X-Hub-Signature-256", hmac("sha256", body, secret)]
    : ["X-Hub-Signature", hmac(method, body, secret)]

const hmac = (method: SignatureMethod, body: Uint8Array, secret: string): string =>
  `${method}=${createHmac(method, secret).update(body).digest("hex")}`
