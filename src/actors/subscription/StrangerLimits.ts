import { RateLimiter } from "#domain/limits/RateLimiter.ts"
import type { Rendered } from "#domain/delivery/Delivery.ts"
import type { AttemptResult, Delivery } from "#domain/delivery/Notification.ts"
import type { Parcel } from "#domain/ports/Deliverer.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { hourMs } from "#domain/Time.ts"
import type { CallbackRecord } from "#actors/limits/DeliveryLimiter.ts"

/** Bytes of a document that may be sent to a network that has not agreed, and from which failed uploads are counted. */
const maxIntroductionBytes = 64 << 10

/** MiB of failed uploads to one network: so many at once, then as many an hour. */
const failedUploadMiB = 64

/** Maximum of networks with counted uploads. */
const maxNetworks = 10_000

/** A failure without an attempt. */
interface Refused {
  readonly verdict: "failed"
  readonly attempt: AttemptResult
  readonly requestedWait: number
}

/**
 * Limits of deliveries to the callbacks of strangers, in this process.
 *
 * A stranger can point a name at a victim after its callback has agreed, and can let a callback fail for ever.
 */
export class StrangerLimits {
  readonly #failedUploads = new RateLimiter(
    { burst: failedUploadMiB, perMinute: failedUploadMiB / 60 },
    { maxKeys: maxNetworks, maxDebtMs: hourMs }
  )

  /** The parcel of a stranger. After a failure, nothing goes to another network than the one that agreed, and uploads stop early. */
  guard(parcel: Parcel, delivery: Delivery, subscription: Subscription, callback: CallbackRecord): Parcel {
    const { network } = subscription
    const isFailing = isFailingNow(delivery, subscription, callback)
    const isLarge = parcel.body.length > maxIntroductionBytes
    const mayIntroduce = !isFailing && !isLarge
    return {
      ...parcel,
      ...(network === undefined
        ? {}
        : { consent: { isAgreed: (other: string) => other === network, mayIntroduce } }),
      ...(isFailing && isLarge ? { stopsEarly: true } : {})
    }
  }

  /** A failure without an attempt, when the network of a failing callback got too many failed uploads. */
  refuse(
    { body }: Rendered,
    delivery: Delivery,
    subscription: Subscription,
    callback: CallbackRecord,
    now: number
  ): Refused | undefined {
    if (body.length <= maxIntroductionBytes || !isFailingNow(delivery, subscription, callback)) return undefined
    const waitMs = this.#failedUploads.waitMs(networkOf(subscription), now)
    if (waitMs === 0) return undefined
    const message =
      `Not sent: failing callbacks of one network get ${failedUploadMiB} MiB of refused documents an hour.`
    return { verdict: "failed", attempt: { code: 0, message, reason: "held" }, requestedWait: Math.ceil(waitMs) }
  }

  /** Remembers the outcome, and counts the upload of a large document that failed. */
  record(
    { body }: Rendered,
    subscription: Subscription,
    callback: CallbackRecord,
    outcome: { readonly verdict: string; readonly isElsewhere?: boolean | undefined },
    now: number
  ): void {
    if (outcome.verdict !== "delivered" && outcome.verdict !== "failed") return
    callback.isFailing = outcome.verdict === "failed"
    if (outcome.verdict === "delivered" || body.length <= maxIntroductionBytes) return
    // No large document is sent to another network than the one that agreed.
    if (outcome.isElsewhere === true) return
    this.#failedUploads.use(networkOf(subscription), now, body.length / (1 << 20))
  }
}

/** The key of a callback in limits of deliveries: for strangers, all names in one network count together. */
export const networkOf = ({ host, network }: Subscription): string => network ?? host

/** Whether the last attempt failed. The actor may have been loaded since. */
const isFailingNow = (
  { attempt }: Delivery,
  { failing }: Subscription,
  { isFailing = failing !== undefined }: CallbackRecord
): boolean => attempt > 0 || isFailing
