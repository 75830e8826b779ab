import { Config, Effect, Layer, Option, Redacted, Result, Schema } from "effect"
import { IpNetwork } from "effect/net"
import { domainToASCII } from "node:url"
import { loginProblem } from "#domain/Account.ts"
import * as Jid from "#domain/Jid.ts"
import { Settings, type SettingsValues } from "#domain/ports/Settings.ts"

/** One or more settings cannot be used; each problem is a sentence that names its variable. */
export class SettingsError extends Schema.TaggedError<SettingsError>()("SettingsError", {
  problems: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return this.problems.join("\n")
  }
}

/** One setting: its variable, what it means, the default in words, and how it is read. */
interface Setting<A> {
  readonly variable: string
  readonly meaning: string
  readonly fallback: string
  readonly read: (text: string) => A | Problem
  readonly missing: A
  /** Shown as `(set)` instead of its value. */
  readonly secret?: true
}

/** What a value has to be, to end the sentence `NAME is "x"; …`. */
class Problem {
  readonly wanted: string
  constructor(wanted: string) {
    this.wanted = wanted
  }
}

const text = (text: string) => text

const integer = (minimum: number, maximum: number) => (text: string): number | Problem => {
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN
  return value >= minimum && value <= maximum
    ? value
    : new Problem(`a whole number from ${minimum} to ${maximum} is needed`)
}

const flag = (text: string): boolean | Problem => {
  const value = text.toLowerCase()
  if (["true", "yes", "1", "on"].includes(value)) return true
  if (["false", "no", "0", "off"].includes(value)) return false
  return new Problem("true or false is needed")
}

const webAddress = (text: string): string | Problem => {
  const url = URL.parse(text)
  return url !== null && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === ""
    ? url.href.replace(/\/+$/, "")
    : new Problem("an http or https URL without query is needed, such as https://push.example.org")
}

const databaseAddress = (text: string): Redacted.Redacted | Problem => {
  const url = URL.parse(text)
  const names = (part: "username" | "hostname", parameter: string) =>
    url !== null && (url[part] !== "" || url.searchParams.has(parameter))
  return url !== null && /^postgres(ql)?:$/.test(url.protocol) && names("username", "user") && names("hostname", "host")
    ? Redacted.make(text)
    : new Problem("a URL such as postgres://user:password@host:5432/database is needed")
}

const publishers = (text: string): SettingsValues["publishers"] | Problem => {
  const pairs = text.split(",").map((pair) => /^\s*(https?:\/\/\S+)\s+(\S{16,})\s*$/i.exec(pair))
  const read = pairs.flatMap((pair) => {
    const url = pair === null ? null : URL.parse(pair[1] ?? "")
    return url === null ? [] : [{ prefix: url.href, secret: Redacted.make(pair?.[2] ?? "") }]
  })
  return read.length === pairs.length
    ? read
    : new Problem("URL SECRET, URL SECRET … is needed, each secret of 16 characters or more")
}

const login = (text: string): string | Problem =>
  loginProblem(text) === undefined ? text : new Problem(loginProblem(text) ?? "")

const runnerAddress = (text: string): { readonly host: string; readonly port: number } | Problem => {
  const match = /^(\[[0-9a-fA-F:]+\]|[^:\s]+):(\d{1,5})$/.exec(text)
  const port = Number(match?.[2])
  return match?.[1] !== undefined && port > 0 && port < 65536
    ? { host: match[1].replace(/^\[|\]$/g, ""), port }
    : new Problem("host:port is needed, such as 10.0.0.7:9090")
}

const secret = (minimum: number) => (text: string): Redacted.Redacted | Problem =>
  text.length >= minimum ? Redacted.make(text) : new Problem(`at least ${minimum} characters are needed`)

const asciiDomain = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/

/** In ASCII (xn--…) or in Unicode: it stays as it was written, since the server wants to hear its own spelling. */
const domainName = (text: string): string | Problem => {
  const given = text.toLowerCase().normalize("NFC")
  return asciiDomain.test(domainToASCII(given)) && Jid.bareOf(given) === Jid.domainOf(given)
    ? given
    : new Problem("a domain name is needed, such as push.example.org")
}

const headerPrefix = (text: string): string | Problem =>
  /^[A-Za-z0-9-]{1,60}-$/.test(text) ? text : new Problem("the start of a header name that ends in '-' is needed")

/** An address alone is the network of itself. */
const network = (part: string): string => part.includes("/") ? part : `${part}/${part.includes(":") ? 128 : 32}`

const networks = (text: string): ReadonlyArray<string> | Problem => {
  const parts = text.split(",").map((part) => network(part.trim()))
  return parts.every((part) => Result.isSuccess(IpNetwork.fromString(part)))
    ? parts
    : new Problem("IP addresses or networks are needed, such as 127.0.0.1, 10.0.0.0/8")
}

const oneOf = <const A extends string>(...values: ReadonlyArray<A>) => (text: string): A | Problem =>
  values.find((value) => value === text.toLowerCase()) ?? new Problem(`one of ${values.join(", ")} is needed`)

/** Where a service is reached whose base URL was not set: at its own port on this machine. */
export const defaultBaseUrl = (port: number): string => `http://localhost:${port}`

/** All settings, in the order in which `windhover settings` lists them. */
const table: { readonly [K in keyof SettingsValues]: Setting<SettingsValues[K]> } = {
  port: {
    variable: "WINDHOVER_PORT",
    meaning: "TCP port of the HTTP server; 0 takes any free one.",
    fallback: "8080",
    read: integer(0, 65535),
    missing: 8080
  },
  host: {
    variable: "WINDHOVER_HOST",
    meaning: "Address that the HTTP server listens on.",
    fallback: "0.0.0.0",
    read: text,
    missing: "0.0.0.0"
  },
  baseUrl: {
    variable: "WINDHOVER_BASE_URL",
    meaning: "URL under which subscribers and publishers reach the service.",
    fallback: "http://localhost:<port>",
    read: webAddress,
    missing: ""
  },
  dataDir: {
    variable: "WINDHOVER_DATA_DIR",
    meaning: "Directory of the embedded database.",
    fallback: "./data",
    read: text,
    missing: "./data"
  },
  databaseUrl: {
    variable: "WINDHOVER_DATABASE_URL",
    meaning: "PostgreSQL 14 or newer, as a URL; instead of the embedded database.",
    fallback: "the embedded database",
    read: databaseAddress,
    missing: undefined,
    secret: true
  },
  adminLogin: {
    variable: "WINDHOVER_ADMIN_LOGIN",
    meaning: "Login of the first account, made at the first start.",
    fallback: "admin",
    read: login,
    missing: "admin"
  },
  adminPassword: {
    variable: "WINDHOVER_ADMIN_PASSWORD",
    meaning: "Its password, at least 8 characters.",
    fallback: "a random one, printed once",
    read: secret(8),
    missing: undefined,
    secret: true
  },
  adminToken: {
    variable: "WINDHOVER_ADMIN_TOKEN",
    meaning: "Its token with all rights, at least 16 characters.",
    fallback: "a random one, printed once",
    read: secret(16),
    missing: undefined,
    secret: true
  },
  allowPrivate: {
    variable: "WINDHOVER_ALLOW_PRIVATE",
    meaning: "Fetch from and deliver to private and loopback addresses as well: for a trusted network only.",
    fallback: "false",
    read: flag,
    missing: false
  },
  followMovedIds: {
    variable: "WINDHOVER_FOLLOW_MOVED_IDS",
    meaning: "Take ids that only went from http to https, or moved to another host all together, for the known ones.",
    fallback: "true",
    read: flag,
    missing: true
  },
  pornRank: {
    variable: "WINDHOVER_PORN_RANK",
    meaning: "Tell how likely a feed is pornography (porn_rank), judged once a day by the words of its titles.",
    fallback: "false",
    read: flag,
    missing: false
  },
  minPeriod: {
    variable: "WINDHOVER_MIN_PERIOD",
    meaning: "Seconds between two polls of a feed, at least; below 60 for tests only.",
    fallback: "60",
    read: integer(1, 86_400),
    missing: 60
  },
  maxPeriod: {
    variable: "WINDHOVER_MAX_PERIOD",
    meaning:
      "Seconds between two polls of a resource that has subscribers and answers, at most; 16 times as many where a publisher's hub pushes.",
    fallback: "15 times WINDHOVER_MIN_PERIOD",
    read: integer(1, 86_400),
    missing: undefined
  },
  runnerAddress: {
    variable: "WINDHOVER_RUNNER_ADDRESS",
    meaning:
      "host:port under which the other runners of a cluster reach this one (private network: it has no authentication). Needs WINDHOVER_DATABASE_URL.",
    fallback: "alone",
    read: runnerAddress,
    missing: undefined
  },
  extNamespace: {
    variable: "WINDHOVER_EXT_NAMESPACE",
    meaning: "XML namespace of the status element.",
    fallback: "http://superfeedr.com/xmpp-pubsub-ext",
    read: (text) => URL.canParse(text) ? text : new Problem("an absolute URI is needed"),
    missing: "http://superfeedr.com/xmpp-pubsub-ext"
  },
  headerPrefix: {
    variable: "WINDHOVER_HEADER_PREFIX",
    meaning: "Second spelling of the X-Service- headers of a notification.",
    fallback: "X-Superfeedr-",
    read: headerPrefix,
    missing: "X-Superfeedr-"
  },
  hubOpen: {
    variable: "WINDHOVER_HUB_OPEN",
    meaning: "Serve the open WebSub hub at /hub.",
    fallback: "true",
    read: flag,
    missing: true
  },
  publishers: {
    variable: "WINDHOVER_PUBLISHERS",
    meaning:
      "Publishers that may send content with their pings (hub.content): a URL, a space and the secret that signs it, with commas between. "
      + "A URL that ends with a slash stands for all below it.",
    fallback: "none",
    read: publishers,
    missing: [],
    secret: true
  },
  upstreamHubs: {
    variable: "WINDHOVER_UPSTREAM_HUBS",
    meaning:
      "Subscribe at the hubs that publishers name, and have their news pushed. Hubs have to reach WINDHOVER_BASE_URL.",
    fallback: "true when WINDHOVER_BASE_URL is a public name or address",
    read: flag,
    missing: undefined
  },
  hubQuestionsPerMinute: {
    variable: "WINDHOVER_HUB_QUESTIONS_PER_MINUTE",
    meaning:
      "Verifications and refusals that the open hub sends to the callbacks of one domain in a minute, at most, and as many again for what is subscribed there; others wait.",
    fallback: "10",
    read: integer(1, 1_000),
    missing: 10
  },
  hubSubscriptionsPerSite: {
    variable: "WINDHOVER_HUB_SUBSCRIPTIONS_PER_SITE",
    meaning: "Subscriptions of the open hub whose callbacks are on one domain (or address), at most.",
    fallback: "10000",
    read: integer(1, 10_000_000),
    missing: 10_000
  },
  requestsPerMinute: {
    variable: "WINDHOVER_REQUESTS_PER_MINUTE",
    meaning: "Requests of one token (or password) in a minute; more are answered 429.",
    fallback: "no bound",
    read: integer(1, 1_000_000),
    missing: undefined
  },
  trustedProxies: {
    variable: "WINDHOVER_TRUSTED_PROXIES",
    meaning:
      "Addresses or networks of reverse proxies in front, with commas between: their X-Forwarded-For says who calls. Failed logins are counted by it.",
    fallback: "none",
    read: networks,
    missing: []
  },
  maxResident: {
    variable: "WINDHOVER_MAX_RESIDENT",
    meaning: "Actors of this runner that keep their state in memory between two messages; about 2 kB each.",
    fallback: "100000",
    read: integer(100, 10_000_000),
    missing: 100_000
  },
  maxFetches: {
    variable: "WINDHOVER_MAX_FETCHES",
    meaning: "Fetches under way at once.",
    fallback: "512",
    read: integer(1, 10_000),
    missing: 512
  },
  maxDeliveries: {
    variable: "WINDHOVER_MAX_DELIVERIES",
    meaning: "Deliveries under way at once.",
    fallback: "512",
    read: integer(1, 10_000),
    missing: 512
  },
  keepDropped: {
    variable: "WINDHOVER_KEEP_DROPPED",
    meaning: "Days that a delivery which was given up is kept, to be seen and replayed.",
    fallback: "30",
    read: integer(1, 3650),
    missing: 30
  },
  keepEntries: {
    variable: "WINDHOVER_KEEP_ENTRIES",
    meaning: "Entries that are kept of each feed, to be retrieved; older ones are deleted about once a day.",
    fallback: "1000",
    read: integer(50, 1_000_000),
    missing: 1000
  },
  maxStreams: {
    variable: "WINDHOVER_MAX_STREAMS",
    meaning: "Streams and long polls that are held open at once.",
    fallback: "20000",
    read: integer(0, 1_000_000),
    missing: 20_000
  },
  maxStreamsPerAccount: {
    variable: "WINDHOVER_MAX_STREAMS_PER_ACCOUNT",
    meaning: "How many of them one account may have.",
    fallback: "5000",
    read: integer(0, 1_000_000),
    missing: 5_000
  },
  xmppComponent: {
    variable: "WINDHOVER_XMPP_COMPONENT",
    meaning: "Name of the XMPP component that subscribers talk to, as its server knows it.",
    fallback: "XMPP is off",
    read: domainName,
    missing: undefined
  },
  xmppDomain: {
    variable: "WINDHOVER_XMPP_DOMAIN",
    meaning: "Domain of the XMPP accounts, <login>@<domain>, on the same server.",
    fallback: "–",
    read: domainName,
    missing: ""
  },
  xmppSecret: {
    variable: "WINDHOVER_XMPP_SECRET",
    meaning: "What the component and its server share, at least 8 characters.",
    fallback: "–",
    read: secret(8),
    missing: undefined,
    secret: true
  },
  xmppHost: {
    variable: "WINDHOVER_XMPP_HOST",
    meaning: "Host on which the XMPP server takes components (private network: the stream is not encrypted).",
    fallback: "127.0.0.1",
    read: text,
    missing: "127.0.0.1"
  },
  xmppPort: {
    variable: "WINDHOVER_XMPP_PORT",
    meaning: "TCP port on which the XMPP server takes components.",
    fallback: "5347",
    read: integer(1, 65535),
    missing: 5347
  },
  xmppAuthSecret: {
    variable: "WINDHOVER_XMPP_AUTH_SECRET",
    meaning: "Lets an XMPP server on another machine check logins at /internal/xmpp/auth; at least 16 characters.",
    fallback: "only servers on this machine may",
    read: secret(16),
    missing: undefined,
    secret: true
  },
  logLevel: {
    variable: "WINDHOVER_LOG_LEVEL",
    meaning: "debug, info, warn or error.",
    fallback: "info",
    read: oneOf("debug", "info", "warn", "error"),
    missing: "info"
  }
}

/** A setting as `windhover settings` shows it. */
export interface Explained {
  readonly variable: string
  readonly meaning: string
  readonly fallback: string
  /** What it is set to, `(set)` for secrets; undefined when the default is in force. */
  readonly value: string | undefined
}

const variables = Effect.fnUntraced(function*() {
  const found = new Map<string, string>()
  for (const { variable } of Object.values(table)) {
    const value = yield* Config.option(Config.String(variable))
    if (Option.isSome(value) && value.value !== "") found.set(variable, value.value)
  }
  return found
})

/** Variables of `bin/windhover` and of single commands, which are no settings of the service. */
const others: ReadonlySet<string> = new Set([
  "WINDHOVER_NODE",
  "WINDHOVER_HANGUP",
  "WINDHOVER_URL",
  "WINDHOVER_LOGIN",
  "WINDHOVER_TOKEN",
  "WINDHOVER_PASSWORD"
])

/** Of these variables those that look like settings and are none, most likely misspelled: who set them has to hear of it. */
export const unknown = (variables: ReadonlyArray<string>): ReadonlyArray<string> => {
  const known = new Set([...Object.values(table).map(({ variable }) => variable), ...others])
  return variables.filter((variable) => variable.startsWith("WINDHOVER_") && !known.has(variable))
}

/** All settings with what they mean, for a person. */
export const explain = Effect.fn("Settings.explain")(function*() {
  const found = yield* variables()
  return Object.values(table).map((setting): Explained => {
    const value = found.get(setting.variable)
    return {
      variable: setting.variable,
      meaning: setting.meaning,
      fallback: setting.fallback,
      value: value !== undefined && setting.secret === true ? "(set)" : value
    }
  })
})

/** Reads and checks everything; all problems are reported together. */
export const read = Effect.fn("Settings.read")(function*() {
  const found = yield* variables()
  const problems: Array<string> = []
  const take = <A>(setting: Setting<A>): A => {
    const value = found.get(setting.variable)
    if (value === undefined) return setting.missing
    const outcome = setting.read(value)
    if (!(outcome instanceof Problem)) return outcome
    problems.push(
      `${setting.variable} is ${setting.secret === true ? "not usable" : JSON.stringify(value)}; ${outcome.wanted}.`
    )
    return setting.missing
  }
  const values: SettingsValues = {
    port: take(table.port),
    host: take(table.host),
    baseUrl: take(table.baseUrl),
    dataDir: take(table.dataDir),
    databaseUrl: take(table.databaseUrl),
    adminLogin: take(table.adminLogin),
    adminPassword: take(table.adminPassword),
    adminToken: take(table.adminToken),
    allowPrivate: take(table.allowPrivate),
    minPeriod: take(table.minPeriod),
    followMovedIds: take(table.followMovedIds),
    pornRank: take(table.pornRank),
    maxPeriod: take(table.maxPeriod),
    runnerAddress: take(table.runnerAddress),
    extNamespace: take(table.extNamespace),
    headerPrefix: take(table.headerPrefix),
    hubOpen: take(table.hubOpen),
    publishers: take(table.publishers),
    upstreamHubs: take(table.upstreamHubs),
    hubQuestionsPerMinute: take(table.hubQuestionsPerMinute),
    hubSubscriptionsPerSite: take(table.hubSubscriptionsPerSite),
    requestsPerMinute: take(table.requestsPerMinute),
    trustedProxies: take(table.trustedProxies),
    maxResident: take(table.maxResident),
    maxFetches: take(table.maxFetches),
    maxDeliveries: take(table.maxDeliveries),
    keepDropped: take(table.keepDropped),
    keepEntries: take(table.keepEntries),
    maxStreams: take(table.maxStreams),
    maxStreamsPerAccount: take(table.maxStreamsPerAccount),
    xmppComponent: take(table.xmppComponent),
    xmppDomain: take(table.xmppDomain),
    xmppSecret: take(table.xmppSecret),
    xmppHost: take(table.xmppHost),
    xmppPort: take(table.xmppPort),
    xmppAuthSecret: take(table.xmppAuthSecret),
    logLevel: take(table.logLevel)
  }
  if (values.maxPeriod !== undefined && values.maxPeriod < values.minPeriod) {
    problems.push(
      `${table.maxPeriod.variable} is ${values.maxPeriod}, less than ${table.minPeriod.variable} (${values.minPeriod}); the longest period cannot be shorter than the shortest one.`
    )
  }
  if (values.runnerAddress !== undefined && values.databaseUrl === undefined) {
    problems.push(
      `${table.runnerAddress.variable} is set, but ${table.databaseUrl.variable} is not; runners of a cluster share one PostgreSQL.`
    )
  }
  for (const needed of found.has(table.xmppComponent.variable) ? [table.xmppDomain, table.xmppSecret] : []) {
    if (!found.has(needed.variable)) {
      problems.push(`${table.xmppComponent.variable} is set, but ${needed.variable} is not; XMPP needs both.`)
    }
  }
  if (values.xmppComponent !== undefined && Jid.domainOf(values.xmppComponent) === Jid.domainOf(values.xmppDomain)) {
    problems.push(
      `${table.xmppComponent.variable} and ${table.xmppDomain.variable} are the same; a component has a name of its own, such as push.${values.xmppDomain}.`
    )
  }
  if (problems.length > 0) return yield* new SettingsError({ problems })
  return values.baseUrl === "" ? { ...values, baseUrl: defaultBaseUrl(values.port) } : values
})

export const layer = Layer.effect(Settings, read())

/** For tests and tools: the defaults, with some of them replaced. */
export const layerTest = (values: Partial<SettingsValues> = {}) =>
  Layer.sync(Settings, () => {
    const defaults = Object.fromEntries(Object.entries(table).map(([name, setting]) => [name, setting.missing]))
    return Settings.of({ ...(defaults as unknown as SettingsValues), baseUrl: "http://localhost:8080", ...values })
  })
