import type { Schema } from "effect"
import { EventJsonSchema } from "#domain/Event.ts"
import { Failure, Notification } from "#http/api/ResponseSchemas.ts"

type Json = { readonly [key: string]: unknown }

/** Headers of a notification with their meaning; docs/webhooks.md has the details. */
const notificationHeaders: { readonly [name: string]: { readonly description: string; readonly required: boolean } } = {
  "X-PubSubHubbub-Topic": { description: "The topic of the subscription.", required: true },
  "X-PubSubHubbub-Callback": { description: "The callback of the subscription.", required: true },
  "X-Windhover-Notification-Id": { description: "Stays the same at each retry; drops duplicates.", required: true },
  "X-Windhover-Sequence": {
    description: "1, 2, 3 … for each subscription; a gap is a dropped notification.",
    required: true
  },
  "X-Windhover-Test": { description: "true: a test notification, with the sequence 0.", required: false },
  "X-Service-Credits": { description: "Credit balance of the account; not on the open hub.", required: false },
  "X-Service-Retried": {
    description: "Failed attempts before this one; absent at the first attempt.",
    required: false
  },
  "X-Hub-Signature": { description: "METHOD=HEX, the HMAC of the body with hub.secret.", required: false },
  "X-Hub-Signature-256": { description: "sha256=HEX, beside a SHA-1 signature.", required: false },
  "webhook-id": {
    description: "Standard Webhooks, with a secret: id of the notification, the same at each retry.",
    required: false
  },
  "webhook-timestamp": { description: "Standard Webhooks: Unix second of this attempt.", required: false },
  "webhook-signature": {
    description:
      "Standard Webhooks: v1,BASE64, the HMAC-SHA256 of ID.TIMESTAMP.BODY; two, with a space between, during a rotation.",
    required: false
  },
  Link: { description: "rel=\"hub\" and rel=\"self\".", required: true }
}

const describeHeaders = Object.entries(notificationHeaders).map(([name, { description, required }]) => ({
  name,
  in: "header",
  required,
  description,
  schema: { type: "string" }
}))

const describeNotification = (schemaOf: (schema: Schema.Codec<unknown>) => Json): Json => ({
  post: {
    operationId: "notify",
    summary: "A notification of new content, or of a failing resource",
    security: [],
    parameters: describeHeaders,
    requestBody: {
      required: true,
      content: {
        "application/json": { schema: { oneOf: [schemaOf(Notification), schemaOf(Failure)] } },
        "application/atom+xml": { schema: { type: "string" } },
        "*/*": { schema: { description: "The bytes of a document that is no feed." } }
      }
    },
    responses: {
      "2XX": { description: "Accepted, within 10 s." },
      410: { description: "Ends the subscription." },
      413: { description: "The notification is split." },
      429: { description: "Tried again; Retry-After is respected." },
      default: { description: "Tried again, and dropped after the last attempt." }
    }
  }
})

const describeEvents = (schemaOf: (schema: Schema.Codec<unknown>) => Json): Json => ({
  post: {
    operationId: "notifyEvents",
    summary: "A notification of the topic {base}/events: each item has an event of the account",
    security: [],
    parameters: describeHeaders,
    requestBody: {
      required: true,
      content: {
        "application/json": {
          schema: {
            type: "object",
            properties: {
              items: {
                type: "array",
                items: { type: "object", properties: { event: schemaOf(EventJsonSchema) }, required: ["event"] }
              }
            },
            required: ["items"]
          }
        },
        "application/atom+xml": { schema: { type: "string" } }
      }
    },
    responses: { "2XX": { description: "Accepted, within 10 s." } }
  }
})

const describeVerification = (): Json => ({
  get: {
    operationId: "verifyIntent",
    summary: "The question whether the callback wants the subscription, or its end",
    security: [],
    parameters: [
      ["hub.mode", "subscribe, unsubscribe, or denied with hub.reason and without a challenge."],
      ["hub.topic", "The topic as the subscriber sent it."],
      ["hub.challenge", "The body of a confirming response."],
      ["hub.lease_seconds", "Lease of the subscription; empty for an unsubscribe of the API."],
      ["hub.verify_token", "The token of the request, if it had one."]
    ].map(([name, description]) => ({
      name,
      in: "query",
      required: name === "hub.mode" || name === "hub.topic",
      description,
      schema: { type: "string" }
    })),
    responses: {
      "2XX": {
        description: "Confirms if the body is hub.challenge.",
        content: { "text/plain": { schema: { type: "string" } } }
      },
      default: { description: "Refuses." }
    }
  }
})

/** The requests that Windhover sends to callbacks. `schemaOf` turns a schema into JSON Schema. */
export const describeWebhooks = (schemaOf: (schema: Schema.Codec<unknown>) => Json): Json => ({
  notification: describeNotification(schemaOf),
  events: describeEvents(schemaOf),
  verification: describeVerification()
})
