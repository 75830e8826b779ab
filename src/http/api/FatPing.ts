import { Effect, Redacted } from "effect"
import { hash } from "node:crypto"
import { BoundedMap } from "#domain/collections/BoundedMap.ts"
import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { parse } from "#domain/Topic.ts"
import type { Parameters } from "#http/Parameters.ts"
import { isSignature } from "#http/Signatures.ts"

/** Maximum of remembered contents. */
const maxAccepted = 10_000

/**
 * Digests of accepted contents, for all topics. A signature names no topic and no time, so an eavesdropper could replay a content.
 *
 * The memory belongs to the process: after a restart, or on another runner, a replay succeeds once more.
 */
export class AcceptedContents {
  readonly #digests = new BoundedMap<string, true>(maxAccepted)

  /** Remembers a content. False when the content was accepted before. */
  add(body: Uint8Array): boolean {
    const digest = digestOf(body)
    if (this.#digests.has(digest)) return false
    this.#digests.set(digest, true)
    return true
  }

  forget(body: Uint8Array): void {
    this.#digests.delete(digestOf(body))
  }
}

const digestOf = (body: Uint8Array): string => hash("sha256", body, "base64")

/**
 * Reads the document of a fat ping. Undefined for a plain ping and for a repeated content; Windhover then fetches the topic.
 *
 * The document reaches all subscribers of the topic, so the right to publish is not enough: the signature needs the secret that the
 * operator gave to the topic's publisher (`WINDHOVER_PUBLISHERS`).
 */
export const readFatPing = Effect.fnUntraced(function*(
  parameters: Parameters,
  topics: ReadonlyArray<string>,
  publishers: SettingsValues["publishers"],
  accepted: AcceptedContents
): Effect.fn.Return<PushedDocument | undefined, Refusal> {
  const content = yield* parameters.one("hub.content")
  const signature = yield* parameters.one("hub.signature")
  if (content === undefined) {
    return signature === undefined
      ? undefined
      : yield* badParameter("hub.content", "hub.signature came without the hub.content that it signs.")
  }
  const [topic, another] = topics
  if (topic === undefined || another !== undefined) {
    return yield* badParameter("hub.content", `hub.content is the content of one hub.url; received ${topics.length}.`)
  }
  const { canonical } = yield* Effect.fromResult(parse(topic, "hub.url"))
  const publisher = publishers.find(({ prefix }) =>
    canonical === prefix || prefix.endsWith("/") && canonical.startsWith(prefix)
  )
  if (publisher === undefined) {
    return yield* badParameter(
      "hub.content",
      "hub.content is not accepted for this hub.url: its publisher has no secret here. Without hub.content, Windhover fetches the URL."
    )
  }
  if (signature === undefined) {
    return yield* badParameter("hub.signature", "Please provide a hub.signature: sha256=HEX, the HMAC of hub.content.")
  }
  const body = new TextEncoder().encode(content)
  if (!isSignature(signature, body, Redacted.value(publisher.secret))) {
    return yield* badParameter("hub.signature", "hub.signature does not match hub.content and the publisher's secret.")
  }
  if (!accepted.add(body)) return undefined
  return { contentType: /^\s*[{[]/.test(content) ? "application/json" : "application/xml; charset=utf-8", body }
})
