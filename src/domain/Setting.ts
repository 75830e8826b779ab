// oxlint-disable-next-line no-restricted-imports -- parses text without I/O, like the domain names below
import { IpNetwork } from "effect/net"
import { Redacted, Result } from "effect"
// oxlint-disable-next-line no-restricted-imports -- a table of values: no I/O
import { domainToASCII } from "node:url"
import { loginProblem } from "./Account.ts"
import * as Jid from "./Jid.ts"
import { isLoopbackHost } from "./OwnAddress.ts"

/** One setting: its environment variable, its meaning, its default and the parser of its text. */
export interface Setting<A> {
  readonly variable: string
  /** One or two sentences for the operator. */
  readonly meaning: string
  readonly defaultValue: A
  /** The default in words. */
  readonly defaultText: string
  readonly parse: Parse<A>
  /** Secrets are shown as `(set)`. */
  readonly isSecret: boolean
}

/** A text that the parser of a setting rejects. `requirement` ends the sentence `NAME is "x"; …`. */
export class InvalidSetting {
  readonly requirement: string
  constructor(requirement: string) {
    this.requirement = requirement
  }
}

type Parse<A> = (text: string) => A | InvalidSetting

interface Explanation {
  readonly meaning: string
  readonly isSecret?: true
}

/** A setting with a default value; `defaultText` describes a default whose value does not explain itself. */
export const make = <A>(
  variable: string,
  parse: Parse<A>,
  explanation: Explanation & { readonly defaultValue: NoInfer<A>; readonly defaultText?: string }
): Setting<A> => ({ variable, parse, isSecret: false, defaultText: String(explanation.defaultValue), ...explanation })

/** A setting that is undefined by default. */
export const makeOptional = <A>(
  variable: string,
  parse: Parse<A>,
  explanation: Explanation & { readonly defaultText: string }
): Setting<A | undefined> => ({ variable, parse, isSecret: false, defaultValue: undefined, ...explanation })

export const parseText = (text: string): string | InvalidSetting => text

export const parseInteger = (minimum: number, maximum: number) => (text: string): number | InvalidSetting => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return value >= minimum && value <= maximum
    ? value
    : new InvalidSetting(`a whole number from ${minimum} to ${maximum} is needed`)
}

export const parseFlag = (text: string): boolean | InvalidSetting => {
  const value = text.toLowerCase()
  if (["true", "yes", "1", "on"].includes(value)) return true
  if (["false", "no", "0", "off"].includes(value)) return false
  return new InvalidSetting("true or false is needed")
}

export const parseOneOf = <const A extends string>(...values: ReadonlyArray<A>) => (text: string): A | InvalidSetting =>
  values.find((value) => value === text.toLowerCase()) ??
    new InvalidSetting(`one of ${values.join(", ")} is needed`)

export const parseSecret = (minimum: number) => (text: string): Redacted.Redacted | InvalidSetting =>
  text.length >= minimum ? Redacted.make(text) : new InvalidSetting(`at least ${minimum} characters are needed`)

/** An http or https URL, without trailing slashes. */
/** First parts of the service's own paths. A base path that begins so could not be told from a path behind a proxy that strips it. */
const ownPaths: ReadonlySet<string> = new Set([
  "api",
  "assets",
  "dashboard",
  "dev",
  "docs",
  "events",
  "healthz",
  "hub",
  "hubbub",
  "internal",
  "metrics",
  "openapi.json",
  "ping",
  "readyz",
  "stream",
  "upstream"
])

/** An http or https URL, perhaps with a path, without a slash at its end. */
export const parseBaseUrl = (text: string): string | InvalidSetting => {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.search !== "" || url.hash !== "") {
    return new InvalidSetting("an http or https URL without query is needed, such as https://push.example.org")
  }
  const base = url.href.replace(/\/+$/, "")
  const [, first = ""] = url.pathname.split("/", 2)
  if (ownPaths.has(first)) {
    return new InvalidSetting(
      `its path begins with /${first}, a path of Windhover itself; choose another one, such as /windhover`
    )
  }
  return /^(\/|(\/[\w.~-]+)+)$/.test(new URL(base).pathname)
    ? base
    : new InvalidSetting("its path may have letters, digits and - . _ ~ between single slashes")
}

/** Issuer of OpenID Connect, to the letter. Plain HTTP is for an issuer on this machine. */
export const parseIssuer = (text: string): string | InvalidSetting => {
  const url = URL.parse(text)
  const isUsable = url !== null && url.search === "" && url.hash === "" && url.username === "" &&
    (url.protocol === "https:" || (url.protocol === "http:" && isLoopbackHost(url.hostname)))
  return isUsable
    ? text
    : new InvalidSetting("an https URL without query is needed, such as https://id.example.org/realms/staff")
}

/** Headers with a meaning of their own, which no proxy uses for a login. */
const meaningfulHeaders =
  /^(?:authorization|connection|cookie|forwarded|host|origin|referer|via|(?:content|sec|transfer)-.*|x-forwarded-(?:for|host|proto)|x-http-method-override)$/

/** Name of a header, in lower case. */
export const parseLoginHeader = (text: string): string | InvalidSetting => {
  const name = text.toLowerCase()
  return /^[a-z0-9-]{1,60}$/.test(name) && !meaningfulHeaders.test(name)
    ? name
    : new InvalidSetting("the name of a header for logins is needed, such as X-Forwarded-User or Remote-User")
}

export const parseUri = (text: string): string | InvalidSetting =>
  URL.canParse(text) ? text : new InvalidSetting("an absolute URI is needed")

/** A PostgreSQL URL that names a user and a host, in its authority or in its query. */
export const parseDatabaseUrl = (text: string): Redacted.Redacted | InvalidSetting => {
  const url = URL.parse(text)
  const names = (part: "username" | "hostname", parameter: string) =>
    url !== null && (url[part] !== "" || url.searchParams.has(parameter))
  return url !== null && /^postgres(ql)?:$/.test(url.protocol) && names("username", "user") && names("hostname", "host")
    ? Redacted.make(text)
    : new InvalidSetting("a URL such as postgres://user:password@host:5432/database is needed")
}

/** `prefix`: the publisher may push content of topics whose URL begins so. `secret` signs the content. */
export interface Publisher {
  readonly prefix: string
  readonly secret: Redacted.Redacted
}

/** `URL SECRET, URL SECRET …`. */
export const parsePublishers = (text: string): ReadonlyArray<Publisher> | InvalidSetting => {
  const pairs = text.split(",").map((pair) => /^\s*(https?:\/\/\S+)\s+(\S{16,})\s*$/i.exec(pair))
  const publishers = pairs.flatMap((pair) => {
    const url = pair === null ? null : URL.parse(pair[1] ?? "")
    return url === null ? [] : [{ prefix: url.href, secret: Redacted.make(pair?.[2] ?? "") }]
  })
  return publishers.length === pairs.length
    ? publishers
    : new InvalidSetting("URL SECRET, URL SECRET … is needed, each secret of 16 characters or more")
}

/** A key of 32 bytes, in Base64 or in hex digits. */
export const parseEncryptionKey = (text: string): Uint8Array | InvalidSetting =>
  /^[0-9a-f]{64}$/i.test(text)
    ? Buffer.from(text, "hex")
    : /^[A-Za-z0-9+/]{43}=$/.test(text)
    ? Buffer.from(text, "base64")
    : new InvalidSetting("keys of 32 bytes in Base64 or hex are needed, such as the output of openssl rand -base64 32")

const maxEncryptionKeys = 8

/** Comma-separated keys. */
export const parseEncryptionKeys = (
  text: string
): ReadonlyArray<Redacted.Redacted<Uint8Array>> | InvalidSetting => {
  const keys: Array<Redacted.Redacted<Uint8Array>> = []
  for (const part of text.split(",")) {
    const key = parseEncryptionKey(part.trim())
    if (key instanceof InvalidSetting) return key
    keys.push(Redacted.make(key))
  }
  return keys.length <= maxEncryptionKeys ? keys : new InvalidSetting(`at most ${maxEncryptionKeys} keys are accepted`)
}

export const parseLogin = (text: string): string | InvalidSetting => {
  const problem = loginProblem(text)
  return problem === undefined ? text : new InvalidSetting(problem)
}

export interface HostAndPort {
  readonly host: string
  readonly port: number
}

/** `host:port`; an IPv6 address stands in brackets. */
export const parseHostAndPort = (text: string): HostAndPort | InvalidSetting => {
  const match = /^(\[[0-9a-fA-F:]+\]|[^:\s]+):(\d{1,5})$/.exec(text)
  const port = Number(match?.[2])
  return match?.[1] !== undefined && port > 0 && port < 65536
    ? { host: match[1].replace(/^\[|\]$/g, ""), port }
    : new InvalidSetting("host:port is needed, such as 10.0.0.7:9090")
}

const asciiDomain = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/

/** A domain in ASCII (`xn--…`) or Unicode. It keeps its spelling, because an XMPP server expects its own spelling. */
export const parseDomain = (text: string): string | InvalidSetting => {
  const domain = text.toLowerCase().normalize("NFC")
  return asciiDomain.test(domainToASCII(domain)) && Jid.bareOf(domain) === Jid.domainOf(domain)
    ? domain
    : new InvalidSetting("a domain name is needed, such as push.example.org")
}

export const parseHeaderPrefix = (text: string): string | InvalidSetting =>
  /^[A-Za-z0-9-]{1,60}-$/.test(text)
    ? text
    : new InvalidSetting("the start of a header name that ends in '-' is needed")

/** Comma-separated networks (`10.0.0.0/8`); a single address counts as a network of one. */
export const parseNetworks = (text: string): ReadonlyArray<string> | InvalidSetting => {
  const networks = text.split(",").map((part) => networkOf(part.trim()))
  return networks.every((network) => Result.isSuccess(IpNetwork.fromString(network)))
    ? networks
    : new InvalidSetting("IP addresses or networks are needed, such as 127.0.0.1, 10.0.0.0/8")
}

const networkOf = (part: string): string => part.includes("/") ? part : `${part}/${part.includes(":") ? 128 : 32}`
