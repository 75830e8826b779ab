import type { LoggedAttempt } from "./DeliveryLogEntry.ts"
import { describeFailure, explainReason } from "./FailureReason.ts"
import type { SubscriptionItem } from "#domain/ports/SubscriptionStore.ts"
import type { ResourceProfile } from "#domain/poll/Resource.ts"

/** What keeps a callback from getting notifications, in a sentence. */
export interface Diagnosis {
  readonly tone: "good" | "warn" | "bad" | "idle"
  /** Two or three words, for lists. */
  readonly state: string
  /** The cause, and the remedy where there is one. */
  readonly sentence: string
}

/** `last` is the newest failed attempt, if it is known. */
export const diagnose = (item: SubscriptionItem, last?: LoggedAttempt): Diagnosis => {
  const { deliveries, subscription } = item
  const failure = last === undefined ? "" : ` ${describeWithRemedy(last)}`
  if (subscription.unreadable !== undefined) {
    return { tone: "bad", state: "secret lost", sentence: `${explainReason("secret")} Rotate the secret.` }
  }
  if (subscription.state === "pending") {
    return {
      tone: "warn",
      state: "not confirmed",
      sentence: "The callback has not confirmed the subscription. It has to answer with the challenge as its body."
    }
  }
  if (subscription.state === "paused") {
    return {
      tone: "warn",
      state: "paused",
      sentence: `Paused: nothing is sent before you resume the subscription.${failure}`
    }
  }
  if (subscription.failing !== undefined) {
    return {
      tone: "bad",
      state: "callback fails",
      sentence: last === undefined ? "Every delivery fails." : describeWithRemedy(last)
    }
  }
  if ((deliveries?.dropped ?? 0) > 0) {
    return {
      tone: "warn",
      state: "dropped some",
      sentence: "The callback works again. Notifications were dropped before; recover sends them."
    }
  }
  return diagnoseSource(item)
}

const describeWithRemedy = (attempt: LoggedAttempt): string =>
  `${describeFailure(attempt)}${remedies[attempt.reason ?? ""] ?? ""}`

/** What to do, where the explanation does not tell. */
const remedies: { readonly [reason: string]: string | undefined } = {
  "refused-address": " Use a public address, or let the operator allow this one (WINDHOVER_ALLOWED_ADDRESSES).",
  unauthorized: " Put the credentials into the callback's URL, or let its server accept requests without a login.",
  "not-found": " Subscribe with the right URL.",
  tls: " Renew the certificate."
}

/** The callback is fine, so the resource decides. */
const diagnoseSource = ({ lastSuccessAt, resource, subscription }: SubscriptionItem): Diagnosis => {
  if (resource.lastFetch === undefined) {
    return {
      tone: "idle",
      state: "first fetch due",
      sentence: "The resource is not fetched yet. Its first fetch sends nothing."
    }
  }
  if (isFailing(resource)) {
    return {
      tone: "bad",
      state: "resource fails",
      sentence: `The resource cannot be read, so that there is nothing to send: ${resource.http ?? "no answer"}.`
    }
  }
  if (subscription.channel === "null") {
    return {
      tone: "good",
      state: "followed",
      sentence: "Followed without a callback: read the entries here, by stream or by retrieve."
    }
  }
  return lastSuccessAt === undefined
    ? {
      tone: "idle",
      state: "silent",
      sentence: "The resource is read, and had nothing new since you subscribed. Send a test, or wait for an entry."
    }
    : { tone: "good", state: "delivering", sentence: "Deliveries arrive." }
}

const isFailing = ({ code, http }: ResourceProfile): boolean =>
  code !== undefined && (code === 0 || code >= 400) || /^Fetched \(\w+\) \d+ \d+: /.test(http ?? "")
