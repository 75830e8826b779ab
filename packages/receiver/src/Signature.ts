import { decodeBase64 } from "./Base64.ts"
import { ReceiverError } from "./ReceiverError.ts"

/** Accepted signatures: `standard` requires Standard Webhooks, which also protects the id and the time. */
export type SignatureScheme = "any" | "standard"

/** A signature of a request, before the body is known. */
export type ClaimedSignature =
  | {
    readonly scheme: "standard"
    readonly id: string
    readonly timestamp: string
    readonly signatures: ReadonlyArray<Uint8Array<ArrayBuffer>>
  }
  | { readonly scheme: "hub"; readonly hash: string; readonly signature: Uint8Array<ArrayBuffer> }

const maxHeaderLength = 4_096
const maxSignatures = 16

/**
 * Reads the signature headers. A request with Standard Webhooks headers has to pass by them: another signature beside them protects less.
 *
 * `now` and `toleranceSeconds` judge the timestamp, in seconds.
 */
export const readSignature = (
  headers: Headers,
  scheme: SignatureScheme,
  now: number,
  toleranceSeconds: number
): ClaimedSignature => {
  const standard = headers.get("webhook-signature")
  if (standard !== null) return readStandard(headers, standard, now, toleranceSeconds)
  const hub = headers.get("x-hub-signature-256") ?? headers.get("x-hub-signature")
  if (hub === null || scheme === "standard") {
    throw new ReceiverError(
      "missing-signature",
      scheme === "standard"
        ? "The header webhook-signature is missing. Subscribe with hub.secret."
        : "The request has no signature: neither webhook-signature nor X-Hub-Signature. Subscribe with hub.secret."
    )
  }
  return readHub(hub)
}

const readStandard = (
  headers: Headers,
  header: string,
  now: number,
  toleranceSeconds: number
): ClaimedSignature => {
  const id = headers.get("webhook-id") ?? ""
  const timestamp = headers.get("webhook-timestamp") ?? ""
  if (id === "" || !/^\d{1,12}$/.test(timestamp)) {
    throw new ReceiverError(
      "invalid-header",
      "webhook-signature needs webhook-id, and webhook-timestamp in seconds since 1970, beside it."
    )
  }
  if (Math.abs(now - Number(timestamp)) > toleranceSeconds) {
    throw new ReceiverError(
      "expired-timestamp",
      `webhook-timestamp differs by more than ${toleranceSeconds} s from this receiver's clock. Check both clocks.`
    )
  }
  const signatures = header.length > maxHeaderLength ? [] : header.split(" ").flatMap((part) => {
    const value = part.startsWith("v1,") ? decodeBase64(part.slice(3)) : undefined
    return value === undefined ? [] : [value]
  })
  if (signatures.length === 0 || signatures.length > maxSignatures) {
    throw new ReceiverError(
      "wrong-signature",
      `webhook-signature has 1 to ${maxSignatures} signatures of the form v1,BASE64, separated by spaces.`
    )
  }
  return { scheme: "standard", id, timestamp, signatures }
}

const hashes: { readonly [method: string]: string } = {
  sha1: "SHA-1",
  sha256: "SHA-256",
  sha384: "SHA-384",
  sha512: "SHA-512"
}

const readHub = (header: string): ClaimedSignature => {
  const [, method = "", hex = ""] = /^(\w{1,10})=((?:[0-9a-f]{2}){1,64})$/i.exec(header) ?? []
  const hash = Object.hasOwn(hashes, method.toLowerCase()) ? hashes[method.toLowerCase()] : undefined
  if (hash === undefined) {
    throw new ReceiverError(
      "wrong-signature",
      "X-Hub-Signature has the form METHOD=HEX with the method sha1, sha256, sha384 or sha512."
    )
  }
  return { scheme: "hub", hash, signature: Uint8Array.from(hex.match(/../g) ?? [], (pair) => parseInt(pair, 16)) }
}

/** True if one of the secrets made one of the signatures. Web Crypto compares in constant time. */
export const isSigned = async (
  claimed: ClaimedSignature,
  body: Uint8Array<ArrayBuffer>,
  secrets: ReadonlyArray<string>
): Promise<boolean> => {
  const standard = claimed.scheme === "standard"
  const hash = standard ? "SHA-256" : claimed.hash
  const content = standard ? prefix(`${claimed.id}.${claimed.timestamp}.`, body) : body
  const signatures = standard ? claimed.signatures : [claimed.signature]
  for (const secret of secrets) {
    const key = await crypto.subtle.importKey(
      "raw",
      standard ? keyOf(secret) : encoder.encode(secret),
      { name: "HMAC", hash },
      false,
      ["verify"]
    )
    for (const signature of signatures) {
      if (await crypto.subtle.verify("HMAC", key, signature, content)) return true
    }
  }
  return false
}

/** Key of Standard Webhooks: the Base64 after `whsec_`, and any other secret as it is. */
const keyOf = (secret: string): Uint8Array<ArrayBuffer> =>
  (secret.startsWith("whsec_") ? decodeBase64(secret.slice(6)) : undefined) ?? encoder.encode(secret)

const encoder = new TextEncoder()

const prefix = (text: string, body: Uint8Array): Uint8Array<ArrayBuffer> => {
  const head = encoder.encode(text)
  const all = new Uint8Array(head.length + body.length)
  all.set(head)
  all.set(body, head.length)
  return all
}
