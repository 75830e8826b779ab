import { Result } from "effect"
import { getDomain } from "tldts"
import { badParameter, type Refusal } from "./Refusal.ts"

/** Characters of a `hub.topic`, at most. */
export const maxTopicLength = 2048

/** Partitions of the cluster. Fixed: a resource's partition is stored with it. */
export const partitionCount = 256

/**
 * A watched URL: as the subscriber wrote it (echoed byte for byte), and the canonical form under which resources are shared.
 */
export interface Topic {
  readonly given: string
  readonly canonical: string
  /** Lower-case host name, without port. */
  readonly host: string
}

/**
 * Reads a topic. `http` and `https` stay two topics; scheme and host are lower-cased, the default port goes, the fragment stays (it selects).
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

/** XMPP calls it a node; the sentence of HTTP is the wire's, whatever the parameter. */
const wireNameOf = (parameter: string): string => parameter === "node" ? parameter : "hub.topic"

/** `URL.parse` drops some of them without a word; as given they would forge a header of a notification or a line of a stream. */
export const hasControlCharacter = (text: string): boolean => /[\u0000-\u001f\u007f]/.test(text)

/** Received text for an error sentence: one line, bounded, quoted. */
export const quote = (text: string): string => JSON.stringify(text.length > 120 ? `${text.slice(0, 117)}...` : text)

/** The registrable domain of a host; an address or a name without one is a site of its own. */
export const siteOf = (host: string): string => getDomain(host, { allowPrivateDomains: true }) ?? host

/**
 * The partition of a host: all hosts of one registrable domain share it, so their politeness, connections and back-off live in one place.
 */
export const partitionOf = (host: string): number => fnv1a(siteOf(host)) % partitionCount

const fnv1a = (text: string): number => {
  let hash = 0x811c9dc5
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash >>> 0
}
