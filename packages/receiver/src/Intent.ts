import { ReceiverError } from "./ReceiverError.ts"

/** The question of a hub whether a subscription, or its end, is wanted. */
export interface Intent {
  readonly mode: "subscribe" | "unsubscribe"
  readonly topic: string
  /** Undefined when the hub names no lease. */
  readonly leaseSeconds: number | undefined
  /** The hub.verify_token of the subscriber's request. */
  readonly verifyToken: string | undefined
}

/** A refused subscription, as a hub tells it. Nothing proves the sender of this message. */
export interface Denial {
  readonly topic: string
  readonly reason: string
}

/** Topics that may be subscribed and unsubscribed: a list, or a function. */
export type AllowedTopics =
  | ReadonlyArray<string>
  | ((topic: string, intent: Intent) => boolean | Promise<boolean>)

const maxChallengeLength = 1_024

/** Answers a verification of intent with the challenge, and passes a denial on. Throws a `ReceiverError` for everything else. */
export const answerIntent = async (
  url: string,
  topics: AllowedTopics | undefined,
  onDenied: ((denial: Denial) => void | Promise<void>) | undefined
): Promise<string> => {
  const query = new URL(url).searchParams
  const mode = query.get("hub.mode")
  const topic = query.get("hub.topic") ?? ""
  if (mode === "denied") {
    await onDenied?.({ topic, reason: query.get("hub.reason") ?? "" })
    return ""
  }
  const challenge = query.get("hub.challenge") ?? ""
  if (mode !== "subscribe" && mode !== "unsubscribe" || topic === "" || challenge === "") {
    throw new ReceiverError(
      "wrong-intent",
      "This callback takes notifications by POST. A GET needs hub.mode, hub.topic and hub.challenge."
    )
  }
  if (challenge.length > maxChallengeLength) {
    throw new ReceiverError("wrong-intent", `hub.challenge has more than ${maxChallengeLength} characters.`)
  }
  const lease = query.get("hub.lease_seconds") ?? ""
  const intent: Intent = {
    mode,
    topic,
    leaseSeconds: /^\d{1,15}$/.test(lease) ? Number(lease) : undefined,
    verifyToken: query.get("hub.verify_token") ?? undefined
  }
  const isAllowed = typeof topics === "function" ? await topics(topic, intent) : topics?.includes(topic) === true
  if (!isAllowed) throw new ReceiverError("refused-topic", "This receiver does not agree to that topic.")
  return challenge
}
