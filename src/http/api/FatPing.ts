import { Effect, Redacted } from "effect"
import { hash } from "node:crypto"
import type { PushedDocument } from "#domain/poll/PushedDocument.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { parse } from "#domain/Topic.ts"
import type { Parameters } from "#http/Parameters.ts"
import { isSignature } from "#http/Signatures.ts"

/** Contents that are remembered. */
const maxUsed = 10_000

/**
 * Contents that were taken, of all topics: a signature tells neither for which topic it was made nor when, so that who has seen one could
 * bring it again. In memory: after a restart, and on another runner, one comes through once more.
 */
export class UsedContents {
  readonly #digests = new Set<string>()

  /** False when it was used before. */
  use(body: Uint8Array): boolean {
    const digest = digestOf(body)
    if (this.#digests.has(digest)) return false
    this.#digests.add(digest)
    const [oldest] = this.#digests
    if (this.#digests.size > maxUsed && oldest !== undefined) this.#digests.delete(oldest)
    return true
  }

  /** It came to nothing. */
  forget(body: Uint8Array): void {
    this.#digests.delete(digestOf(body))
  }
}

const digestOf = (body: Uint8Array): string => hash("sha256", body, "base64")

/**
 * The document that a publisher sent along with its ping; undefined where there is none, and where it is one that was sent before:
 * then the topic is fetched, which gives what its publisher says today.
 *
 * All subscribers of the topic will get it, whoever they are, so that the right to publish is not enough: it has to be signed with the secret
 * that the operator gave to the publisher of this very topic (`WINDHOVER_PUBLISHERS`).
 */
export const contentOf = Effect.fnUntraced(function*(
  parameters: Parameters,
  topics: ReadonlyArray<string>,
  publishers: SettingsValues["publishers"],
  used: UsedContents
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
      "hub.content is not accepted for this hub.url: its publisher has no secret here. Leave it out, and the URL is fetched."
    )
  }
  if (signature === undefined) {
    return yield* badParameter("hub.signature", "Please provide a hub.signature: sha256=HEX, the HMAC of hub.content.")
  }
  const body = new TextEncoder().encode(content)
  if (!isSignature(signature, body, Redacted.value(publisher.secret))) {
    return yield* badParameter("hub.signature", "hub.signature is not that of hub.content with the publisher's secret.")
  }
  if (!used.use(body)) return undefined
  return { contentType: /^\s*[{[]/.test(content) ? "application/json" : "application/xml; charset=utf-8", body }
})
