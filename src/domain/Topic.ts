import { Result } from "effect"
import { getDomain } from "tldts"
import { badParameter, type Refusal } from "./Refusal.ts"

/** Maximum of characters in a `hub.topic`. */
export const maxTopicLength = 2048

/** Number of partitions of the cluster. Fixed, because each resource is stored with its partition. */
export const partitionCount = 256

/**
 * A watched URL: in the spelling of the subscriber (echoed byte for byte), and in the canonical form that identifies its resource.
 */
export interface Topic {
  readonly given: string
  readonly canonical: string
  /** Lower-case host name, without port. */
  readonly host: string
}

/**
 * Parses a topic. Scheme and host become lower-case, and the default port is removed. `http` and `https` stay two topics, and the fragment
 * stays, because it selects.
 */
export const parse = (given: string, parameter = "hub.topic"): Result.Result<Topic, Refusal> => {
  if (given === "") {
    return refuseTopic(parameter, `You did not provide a valid ${wireNameOf(parameter)}.`)
  }
  if (given.length > maxTopicLength) {
    return refuseTopic(
      parameter,
      `${parameter} has ${given.length} characters; at most ${maxTopicLength} are accepted.`
    )
  }
  if (hasControlCharacter(given)) {
    return refuseTopic(
      parameter,
      `${parameter} holds a control character: received ${quote(given)}; percent-encode it.`
    )
  }
  const url = URL.parse(given)
  if (url === null) {
    return refuseTopic(
      parameter,
      `${parameter} is not a URL: received ${quote(given)}; an absolute http or https URL is needed.`
    )
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return refuseTopic(
      parameter,
      `${parameter} has the scheme ${quote(url.protocol)}; only http and https URLs can be watched.`
    )
  }
  return Result.succeed({ given, canonical: url.href, host: url.hostname })
}

const refuseTopic = (parameter: string, what: string) =>
  Result.fail(
    badParameter(
      parameter,
      `Please provide a valid ${wireNameOf(parameter)} (feed) URL that is accepted on this hub. ${what}`
    )
  )

/** The name in the sentence: `hub.topic` for all parameters of the hub's API, the parameter itself elsewhere. */
const wireNameOf = (parameter: string): string => parameter.startsWith("hub.") ? "hub.topic" : parameter

/** True for control characters. `URL.parse` removes some silently; in the given spelling they would forge a header or a line of a stream. */
export const hasControlCharacter = (text: string): boolean => /[\u0000-\u001f\u007f]/.test(text)

/** Quotes received text for an error sentence, in one line of at most 120 characters. */
export const quote = (text: string): string => JSON.stringify(text.length > 120 ? `${text.slice(0, 117)}...` : text)

/** The registrable domain of a host. An address, or a name without such a domain, is its own site. */
export const siteOf = (host: string): string => getDomain(host, { allowPrivateDomains: true }) ?? host

/**
 * The partition of a host. All hosts of one registrable domain share a partition, and so their politeness, connections and back-off.
 */
export const partitionOf = (host: string): number => fnv1a(siteOf(host)) % partitionCount

const fnv1a = (text: string): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
