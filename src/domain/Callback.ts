import { Result } from "effect"
import { badParameter, type Refusal } from "./Refusal.ts"
import { maxCallbackLength } from "./Subscription.ts"
import { hasControlCharacter, quote } from "./Topic.ts"

/** The URL that notifications are posted to, in the spelling of the subscriber, and its host. */
export interface Callback {
  readonly given: string
  /** Lower-case host name, without port. */
  readonly host: string
}

/** Parses a `hub.callback`. Its address is checked when a connection opens. */
export const parse = (given: string, parameter = "hub.callback"): Result.Result<Callback, Refusal> => {
  const refused = (what: string) => Result.fail(badParameter(parameter, what))
  if (given === "") {
    return refused(`Please provide a ${parameter}: the http or https URL that notifications are posted to.`)
  }
  if (given.length > maxCallbackLength) {
    return refused(`${parameter} has ${given.length} characters; at most ${maxCallbackLength} are accepted.`)
  }
  const bytes = Buffer.byteLength(given)
  if (bytes > maxCallbackLength) {
    return refused(`${parameter} has ${bytes} bytes in UTF-8; at most ${maxCallbackLength} are accepted.`)
  }
  if (hasControlCharacter(given)) {
    return refused(`${parameter} holds a control character: received ${quote(given)}; percent-encode it.`)
  }
  const url = URL.parse(given)
  if (url === null) {
    return refused(`${parameter} is not a URL: received ${quote(given)}; an absolute http or https URL is needed.`)
  }
  if (url.protocol !== "http:" && url.protocol !== "https:") {
    return refused(`${parameter} has the scheme ${quote(url.protocol)}; notifications go to http and https URLs only.`)
  }
  return Result.succeed({ given, host: url.hostname })
}
