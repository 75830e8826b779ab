import * as Setting from "./Setting.ts"

/**
 * All settings, in the order of `windhover settings`.
 *
 * A new setting is one entry here: its type, its default and its documentation follow from the entry.
 */
export const settingsTable = {
  port: Setting.make({
    variable: "WINDHOVER_PORT",
    meaning: "TCP port of the HTTP server; 0 takes any free port.",
    defaultValue: 8080,
    parse: Setting.parseInteger(0, 65535)
  }),
  host: Setting.make({
    variable: "WINDHOVER_HOST",
    meaning: "Address that the HTTP server listens on.",
    defaultValue: "0.0.0.0",
    parse: Setting.parseText
  }),
  /** Without a trailing slash. */
  baseUrl: Setting.make({
    variable: "WINDHOVER_BASE_URL",
    meaning: "URL under which subscribers and publishers reach the service.",
    defaultValue: "",
    defaultText: "http://localhost:<port>",
    parse: Setting.parseWebAddress
  }),
  dataDir: Setting.make({
    variable: "WINDHOVER_DATA_DIR",
    meaning: "Directory of the embedded database.",
    defaultValue: "./data",
    parse: Setting.parseText
  }),
  databaseUrl: Setting.makeOptional({
    variable: "WINDHOVER_DATABASE_URL",
    meaning: "URL of a PostgreSQL 14 or newer, used instead of the embedded database.",
    defaultText: "the embedded database",
    parse: Setting.parseDatabaseUrl,
    isSecret: true
  }),
  adminLogin: Setting.make({
    variable: "WINDHOVER_ADMIN_LOGIN",
    meaning: "Login of the first account, created at the first start.",
    defaultValue: "admin",
    parse: Setting.parseLogin
  }),
  adminPassword: Setting.makeOptional({
    variable: "WINDHOVER_ADMIN_PASSWORD",
    meaning: "Password of the first account, at least 8 characters.",
    defaultText: "a random one, printed once",
    parse: Setting.parseSecret(8),
    isSecret: true
  }),
  adminToken: Setting.makeOptional({
    variable: "WINDHOVER_ADMIN_TOKEN",
    meaning: "Token of the first account with all rights, at least 16 characters.",
    defaultText: "a random one, printed once",
    parse: Setting.parseSecret(16),
    isSecret: true
  }),
  allowPrivate: Setting.make({
    variable: "WINDHOVER_ALLOW_PRIVATE",
    meaning: "Also fetch from and deliver to private and loopback addresses. For trusted networks only.",
    defaultValue: false,
    parse: Setting.parseFlag
  }),
  followMovedIds: Setting.make({
    variable: "WINDHOVER_FOLLOW_MOVED_IDS",
    meaning: "Treat entry ids as unchanged if only their scheme changed, or all their hosts together.",
    defaultValue: true,
    parse: Setting.parseFlag
  }),
  /** See `PornRank`. */
  pornRank: Setting.make({
    variable: "WINDHOVER_PORN_RANK",
    meaning: "Report the likelihood of pornography (porn_rank), judged once a day from the titles of a feed.",
    defaultValue: false,
    parse: Setting.parseFlag
  }),
  minPeriodSeconds: Setting.make({
    variable: "WINDHOVER_MIN_PERIOD",
    meaning: "Shortest time between two polls of a feed, in seconds; below 60 for tests only.",
    defaultValue: 60,
    parse: Setting.parseInteger(1, 86_400)
  }),
  /** Undefined = 15 times `minPeriodSeconds`. */
  maxPeriodSeconds: Setting.makeOptional({
    variable: "WINDHOVER_MAX_PERIOD",
    meaning:
      "Longest time between two polls of a working resource with subscribers, in seconds; 16 times as long if a publisher's hub pushes the resource.",
    defaultText: "15 times WINDHOVER_MIN_PERIOD",
    parse: Setting.parseInteger(1, 86_400)
  }),
  /** Undefined = a single process. */
  runnerAddress: Setting.makeOptional({
    variable: "WINDHOVER_RUNNER_ADDRESS",
    meaning:
      "host:port under which the other runners of a cluster reach this runner. Needs WINDHOVER_DATABASE_URL, and a private network: runners do not authenticate each other.",
    defaultText: "alone",
    parse: Setting.parseHostAndPort
  }),
  extNamespace: Setting.make({
    variable: "WINDHOVER_EXT_NAMESPACE",
    meaning: "XML namespace of the status element.",
    defaultValue: "http://superfeedr.com/xmpp-pubsub-ext",
    parse: Setting.parseUri
  }),
  headerPrefix: Setting.make({
    variable: "WINDHOVER_HEADER_PREFIX",
    meaning: "Prefix that replaces X-Service- in the second copy of a notification's headers.",
    defaultValue: "X-Superfeedr-",
    parse: Setting.parseHeaderPrefix
  }),
  hubOpen: Setting.make({
    variable: "WINDHOVER_HUB_OPEN",
    meaning: "Serve the open WebSub hub at /hub.",
    defaultValue: true,
    parse: Setting.parseFlag
  }),
  publishers: Setting.make({
    variable: "WINDHOVER_PUBLISHERS",
    meaning:
      "Publishers that may push content with their pings (hub.content): a URL, a space and a signing secret, separated by commas. "
      + "A URL with a trailing slash covers all URLs below it.",
    defaultValue: [],
    defaultText: "none",
    parse: Setting.parsePublishers,
    isSecret: true
  }),
  /** Undefined: on if hubs can reach the base URL, judged by its host. */
  upstreamHubs: Setting.makeOptional({
    variable: "WINDHOVER_UPSTREAM_HUBS",
    meaning:
      "Subscribe at publishers' hubs, so that the hubs push new entries. Hubs must be able to reach WINDHOVER_BASE_URL.",
    defaultText: "true when WINDHOVER_BASE_URL is a public name or address",
    parse: Setting.parseFlag
  }),
  hubQuestionsPerMinute: Setting.make({
    variable: "WINDHOVER_HUB_QUESTIONS_PER_MINUTE",
    meaning:
      "Verifications and denials that the open hub sends to the callbacks of one domain per minute, and as many for existing subscriptions; the rest waits.",
    defaultValue: 10,
    parse: Setting.parseInteger(1, 1_000)
  }),
  hubSubscriptionsPerSite: Setting.make({
    variable: "WINDHOVER_HUB_SUBSCRIPTIONS_PER_SITE",
    meaning: "Maximum of open-hub subscriptions with callbacks on one domain or address.",
    defaultValue: 10_000,
    parse: Setting.parseInteger(1, 10_000_000)
  }),
  requestsPerMinute: Setting.makeOptional({
    variable: "WINDHOVER_REQUESTS_PER_MINUTE",
    meaning: "Requests per minute for one token or password; more are answered 429.",
    defaultText: "no bound",
    parse: Setting.parseInteger(1, 1_000_000)
  }),
  trustedProxies: Setting.make({
    variable: "WINDHOVER_TRUSTED_PROXIES",
    meaning:
      "Addresses or networks of reverse proxies, separated by commas. Failed logins are counted by the client address in the proxies' X-Forwarded-For.",
    defaultValue: [],
    defaultText: "none",
    parse: Setting.parseNetworks
  }),
  maxResident: Setting.make({
    variable: "WINDHOVER_MAX_RESIDENT",
    meaning: "Actors of this runner that keep their state in memory between two messages; about 2 kB each.",
    defaultValue: 100_000,
    parse: Setting.parseInteger(100, 10_000_000)
  }),
  maxFetches: Setting.make({
    variable: "WINDHOVER_MAX_FETCHES",
    meaning: "Maximum of concurrent fetches.",
    defaultValue: 512,
    parse: Setting.parseInteger(1, 10_000)
  }),
  maxDeliveries: Setting.make({
    variable: "WINDHOVER_MAX_DELIVERIES",
    meaning: "Maximum of concurrent deliveries.",
    defaultValue: 512,
    parse: Setting.parseInteger(1, 10_000)
  }),
  keepDroppedDays: Setting.make({
    variable: "WINDHOVER_KEEP_DROPPED",
    meaning: "Days for which dropped deliveries stay visible and can be replayed.",
    defaultValue: 30,
    parse: Setting.parseInteger(1, 3650)
  }),
  keepEntries: Setting.make({
    variable: "WINDHOVER_KEEP_ENTRIES",
    meaning: "Entries stored for each feed, for retrieval; older entries are deleted about once a day.",
    defaultValue: 1000,
    parse: Setting.parseInteger(50, 1_000_000)
  }),
  maxStreams: Setting.make({
    variable: "WINDHOVER_MAX_STREAMS",
    meaning: "Maximum of open streams and long polls.",
    defaultValue: 20_000,
    parse: Setting.parseInteger(0, 1_000_000)
  }),
  maxStreamsPerAccount: Setting.make({
    variable: "WINDHOVER_MAX_STREAMS_PER_ACCOUNT",
    meaning: "Maximum of open streams and long polls of one account.",
    defaultValue: 5_000,
    parse: Setting.parseInteger(0, 1_000_000)
  }),
  /** Undefined: XMPP is off. The domain and the secret are set with the component. */
  xmppComponent: Setting.makeOptional({
    variable: "WINDHOVER_XMPP_COMPONENT",
    meaning: "Name of the XMPP component that subscribers talk to, as configured in the XMPP server.",
    defaultText: "XMPP is off",
    parse: Setting.parseDomain
  }),
  xmppDomain: Setting.make({
    variable: "WINDHOVER_XMPP_DOMAIN",
    meaning: "Domain of the XMPP accounts, <login>@<domain>, on the same server.",
    defaultValue: "",
    defaultText: "–",
    parse: Setting.parseDomain
  }),
  xmppSecret: Setting.makeOptional({
    variable: "WINDHOVER_XMPP_SECRET",
    meaning: "Secret that the component shares with its server, at least 8 characters.",
    defaultText: "–",
    parse: Setting.parseSecret(8),
    isSecret: true
  }),
  xmppHost: Setting.make({
    variable: "WINDHOVER_XMPP_HOST",
    meaning:
      "Host on which the XMPP server accepts components. Use a private network: the connection is not encrypted.",
    defaultValue: "127.0.0.1",
    parse: Setting.parseText
  }),
  xmppPort: Setting.make({
    variable: "WINDHOVER_XMPP_PORT",
    meaning: "TCP port on which the XMPP server accepts components.",
    defaultValue: 5347,
    parse: Setting.parseInteger(1, 65535)
  }),
  /** Undefined: only a server on this machine may check logins. */
  xmppAuthSecret: Setting.makeOptional({
    variable: "WINDHOVER_XMPP_AUTH_SECRET",
    meaning: "Lets an XMPP server on another machine check logins at /internal/xmpp/auth; at least 16 characters.",
    defaultText: "only servers on this machine may",
    parse: Setting.parseSecret(16),
    isSecret: true
  }),
  logLevel: Setting.make({
    variable: "WINDHOVER_LOG_LEVEL",
    meaning: "debug, info, warn or error.",
    defaultValue: "info",
    parse: Setting.parseOneOf("debug", "info", "warn", "error")
  })
}

/** Values of all settings. */
export type SettingsValues = {
  readonly [Name in keyof typeof settingsTable]: (typeof settingsTable)[Name] extends Setting.Setting<infer Value> ?
    Value
    : never
}
