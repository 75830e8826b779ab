import { Effect, Redacted } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { type Refusal, refuse, Unauthenticated } from "#domain/Refusal.ts"
import { quote } from "#domain/Topic.ts"
import type { Parameters } from "./Parameters.ts"

/** A login with a token or a password. */
export interface Credentials {
  readonly login: string
  readonly secret: Redacted.Redacted
}

/** Reads the credentials from the Authorization header, otherwise from the parameter `authorization`. */
export const readCredentials = (
  request: HttpServerRequest,
  parameters: Parameters
): Effect.Effect<Credentials, Refusal> => {
  const header = request.headers["authorization"]
  if (header !== undefined && header !== "") return parseAuthorization(header)
  return Effect.flatMap(parameters.one("authorization"), (parameter) =>
    parameter === undefined
      ? unauthenticated(
        "Please authenticate: with HTTP Basic, your login and a token (or your password), or with the parameter " +
          "authorization, base64 of login:token."
      )
      : decodeCredentials(cleanBase64(parameter), "The parameter authorization"))
}

/** Parses the value of an Authorization header. */
export const parseAuthorization = (header: string): Effect.Effect<Credentials, Refusal> => {
  const basic = /^basic +(.*)$/i.exec(header)?.[1]
  return basic === undefined
    ? unauthenticated(
      `The Authorization header has to be "Basic", with base64 of login:token; received ${schemeOf(header)}.`
    )
    : decodeCredentials(basic, "The Authorization header")
}

/** The scheme for the error sentence. A header of one word may be the secret itself, so the sentence does not repeat it. */
const schemeOf = (header: string): string => {
  const scheme = /^([\w-]{1,20}) /.exec(header)?.[1]
  return scheme === undefined ? "something else" : quote(scheme)
}

/**
 * Removes line breaks and other white space that encoders insert. An unescaped `+` arrives as a space: without that character the
 * length is no multiple of four, and each space becomes a `+` again.
 */
const cleanBase64 = (parameter: string): string => {
  const text = parameter.replace(/^basic +/i, "")
  const stripped = text.replaceAll(/\s/g, "")
  return stripped.length % 4 === 0 ? stripped : text.replaceAll(/[\r\n\t]/g, "").replaceAll(" ", "+")
}

const decodeCredentials = (base64: string, where: string): Effect.Effect<Credentials, Refusal> => {
  const text = /^[\w+/-]+={0,2}$/.test(base64) ? Buffer.from(base64, "base64").toString() : ""
  const colon = text.indexOf(":")
  return colon < 1 || text.includes("\0")
    ? unauthenticated(`${where} is not base64 of login:token.`)
    : Effect.succeed({ login: text.slice(0, colon), secret: Redacted.make(text.slice(colon + 1)) })
}

export const unauthenticated = (message: string): Effect.Effect<never, Refusal> =>
  Effect.fail(refuse(new Unauthenticated({ message })))
