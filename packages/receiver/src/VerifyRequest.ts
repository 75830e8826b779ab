import { type BodyRoom, readBody } from "./Body.ts"
import { type Notification, readNotification } from "./Notification.ts"
import { ReceiverError } from "./ReceiverError.ts"
import { checkSecretSource, resolveSecrets, type SecretSource } from "./Secrets.ts"
import { isSigned, readSignature, type SignatureScheme } from "./Signature.ts"

export interface VerifyOptions {
  readonly secret: SecretSource
  /** Default `any`. `standard` refuses X-Hub-Signature, which protects neither the id nor the time of a notification. */
  readonly scheme?: SignatureScheme
  /** Largest difference between webhook-timestamp and the clock, in seconds. Default 300. */
  readonly toleranceSeconds?: number
  /** Largest body. Default 16 MiB: Windhover splits a larger notification of a feed after the 413. */
  readonly maxBodyBytes?: number
}

/** Holds each verified body until its handler is done. */
export interface VerifiedRequest {
  readonly notification: Notification
  readonly release: () => void
}

const defaultToleranceSeconds = 300
const defaultMaxBodyBytes = 16 * 1024 * 1024

/** Verifies the signature of a POST, and reads its notification. Throws a `ReceiverError`. */
export const verifyRequest = async (request: Request, options: VerifyOptions): Promise<Notification> => {
  checkSecretSource(options.secret)
  const { notification } = await verifyWithin(request, options, { maxBytes: Infinity, used: 0 })
  return notification
}

/** As `verifyRequest`, with room for the body that the requests of a receiver share. Headers are checked before the body is read. */
export const verifyWithin = async (
  request: Request,
  options: VerifyOptions,
  room: BodyRoom
): Promise<VerifiedRequest> => {
  const { headers, url } = request
  const claimed = readSignature(
    headers,
    options.scheme ?? "any",
    Math.floor(Date.now() / 1000),
    options.toleranceSeconds ?? defaultToleranceSeconds
  )
  const secrets = await resolveSecrets(options.secret, { url, headers })
  const { body, release } = await readBody(request, options.maxBodyBytes ?? defaultMaxBodyBytes, room)
  try {
    if (!await isSigned(claimed, body, secrets)) {
      throw new ReceiverError(
        "wrong-signature",
        "The signature does not fit the body. Compare the receiver's secret with the hub.secret of the subscription."
      )
    }
    return {
      notification: readNotification(headers, body, claimed.scheme === "standard" ? claimed.id : undefined),
      release
    }
  } catch (error) {
    release()
    throw error
  }
}
