import { createHmac } from "node:crypto"
import type { Notification, ReceiverOptions } from "#packages/receiver/src/index.ts"

export const secret = "a-secret"
export const topic = "http://feeds.test/a"

export interface Sent {
  readonly sequence?: number | undefined
  readonly id?: string
  readonly body?: string
  readonly contentType?: string
  readonly headers?: Record<string, string>
}

const idOf = ({ id, sequence }: Sent): string => id ?? `${100 + (sequence ?? 0)}-7`

const bodyOf = ({ body, sequence }: Sent): string =>
  body ??
    JSON.stringify({ status: { feed: topic }, title: "A", id: topic, updated: null, items: [{ id: `e-${sequence}` }] })

interface Message {
  readonly headers: Record<string, string>
  readonly body: string
}

const fieldsOf = (sent: Sent): Record<string, string> => ({
  "content-type": sent.contentType ?? "application/json; charset=utf-8",
  "x-pubsubhubbub-topic": topic,
  "x-windhover-notification-id": idOf(sent),
  ...(sent.sequence === undefined ? {} : { "x-windhover-sequence": String(sent.sequence) })
})

/** Headers and body of a notification, signed as by WebSub. */
export const signed = (sent: Sent, key: string = secret): Message => {
  const body = bodyOf(sent)
  const hex = createHmac("sha256", key).update(body).digest("hex")
  return { headers: { ...fieldsOf(sent), "x-hub-signature-256": `sha256=${hex}`, ...sent.headers }, body }
}

/** Headers and body of a notification, signed by Standard Webhooks at `at`, in seconds. */
export const standard = (
  sent: Sent,
  key: string | Buffer = secret,
  at: number = Math.floor(Date.now() / 1000)
): Message => {
  const body = bodyOf(sent)
  const base64 = createHmac("sha256", key).update(`${idOf(sent)}.${at}.${body}`).digest("base64")
  return {
    headers: {
      ...fieldsOf(sent),
      "webhook-id": idOf(sent),
      "webhook-timestamp": String(at),
      "webhook-signature": `v1,${base64}`,
      ...sent.headers
    },
    body
  }
}

export const url = "http://receiver.test/hook"

export const post = ({ body, headers }: Message): Request => new Request(url, { method: "POST", headers, body })

/** Status and text of a response. */
export const told = async (response: Response): Promise<string> => `${response.status} ${await response.text()}`.trim()

/** Options that record the sequences and ids of handled notifications. */
export const recording = (options: Partial<ReceiverOptions> = {}) => {
  const handled: Array<Notification> = []
  const errors: Array<unknown> = []
  return {
    handled,
    errors,
    sequences: () => handled.map(({ sequence }) => sequence),
    options: {
      secret,
      onNotification: (notification: Notification) => void handled.push(notification),
      onError: (error: unknown) => void errors.push(error),
      ...options
    }
  }
}
