import * as Setting from "./Setting.ts"
import { retries } from "./delivery/Retry.ts"

/**
 * All settings, in the order of `windhover settings`.
 *
 * A new setting is one entry here. The entry gives its type, its default and its documentation.
 */
export const settingsTable = {
  port: Setting.make("WINDHOVER_PORT", Setting.parseInteger(0, 65535), {
    meaning: "TCP port of the HTTP server; 0 takes any free port.",
    defaultValue: 8080
  }),
  host: Setting.make("WINDHOVER_HOST", Setting.parseText, {
    meaning: "Address that the HTTP server listens on.",
    defaultValue: "",
    defaultText: "127.0.0.1, or 0.0.0.0 when WINDHOVER_BASE_URL names another host than this machine"
  }),
  /** Without a trailing slash. */
  baseUrl: Setting.make("WINDHOVER_BASE_URL", Setting.parseBaseUrl, {
    meaning:
      "URL under which subscribers and publishers reach the service, with a path where it is a part of another site.",
    defaultValue: "",
    defaultText: "http://localhost:<port>"
  }),
  dataDir: Setting.make("WINDHOVER_DATA_DIR", Setting.parseText, {
    meaning: "Directory of the embedded database.",
    defaultValue: "./data"
  }),
  databaseUrl: Setting.makeOptional("WINDHOVER_DATABASE_URL", Setting.parseDatabaseUrl, {
    meaning: "URL of a PostgreSQL 14 or newer, used instead of the embedded database.",
    defaultText: "the embedded database",
    isSecret: true
  }),
  /** The first one encrypts, all decrypt. Empty: the key file of the data directory. */
  encryptionKeys: Setting.make("WINDHOVER_ENCRYPTION_KEY", Setting.parseEncryptionKeys, {
    meaning:
      "Key of the secrets in the database: 32 bytes in Base64 or hex (openssl rand -base64 32). Runners of a cluster need the same key. "
      + "To change it, put the new key in front of the old one, with a comma between.",
    defaultValue: [],
    defaultText: "a random one, made at the first start in encryption-key of the data directory",
    isSecret: true
  }),
  adminLogin: Setting.make("WINDHOVER_ADMIN_LOGIN", Setting.parseLogin, {
    meaning: "Login of the first account, created at the first start.",
    defaultValue: "admin"
  }),
  adminPassword: Setting.makeOptional("WINDHOVER_ADMIN_PASSWORD", Setting.parseSecret(8), {
    meaning: "Password of the first account, at least 8 characters.",
    defaultText: "a random one, printed once",
    isSecret: true
  }),
  adminToken: Setting.makeOptional("WINDHOVER_ADMIN_TOKEN", Setting.parseSecret(16), {
    meaning: "Token of the first account with all rights, at least 16 characters.",
    defaultText: "a random one, printed once",
    isSecret: true
  }),
  /** Undefined: standard output if it is a terminal, else a file of the data directory. */
  firstAccountFile: Setting.makeOptional("WINDHOVER_FIRST_ACCOUNT_FILE", Setting.parseText, {
    meaning: "File that gets the secrets of the first account, readable for its owner alone, in place of the output.",
    defaultText: "the terminal; without one, first-account.txt in the data directory"
  }),
  allowPrivate: Setting.make("WINDHOVER_ALLOW_PRIVATE", Setting.parseFlag, {
    meaning: "Also fetch from and deliver to private and loopback addresses. For trusted networks only.",
    defaultValue: false
  }),
  allowedAddresses: Setting.make("WINDHOVER_ALLOWED_ADDRESSES", Setting.parseNetworks, {
    meaning:
      "Private addresses, networks or addresses of this machine, separated by commas, that Windhover connects to nevertheless. Names a feed server on the same machine, for example.",
    defaultValue: [],
    defaultText: "none"
  }),
  followMovedIds: Setting.make("WINDHOVER_FOLLOW_MOVED_IDS", Setting.parseFlag, {
    meaning: "Treat entry ids as unchanged if only their scheme changed, or all their hosts together.",
    defaultValue: true
  }),
  /** See `PornRank`. */
  pornRank: Setting.make("WINDHOVER_PORN_RANK", Setting.parseFlag, {
    meaning: "Report the likelihood of pornography (porn_rank), judged once a day from the titles of a feed.",
    defaultValue: false
  }),
  minPeriodSeconds: Setting.make("WINDHOVER_MIN_PERIOD", Setting.parseInteger(1, 86_400), {
    meaning: "Shortest time between two polls of a feed, in seconds; below 60 for tests only.",
    defaultValue: 60
  }),
  /** Undefined = 15 times `minPeriodSeconds`. */
  maxPeriodSeconds: Setting.makeOptional("WINDHOVER_MAX_PERIOD", Setting.parseInteger(1, 86_400), {
    meaning:
      "Longest time between two polls of a working resource with subscribers, in seconds; 16 times as long if a publisher's hub pushes the resource.",
    defaultText: "15 times WINDHOVER_MIN_PERIOD"
  }),
  /** Undefined = a single process. */
  runnerAddress: Setting.makeOptional("WINDHOVER_RUNNER_ADDRESS", Setting.parseHostAndPort, {
    meaning:
      "host:port under which the other runners of a cluster reach this runner. Needs WINDHOVER_DATABASE_URL, and a private network: runners do not authenticate each other.",
    defaultText: "alone"
  }),
  extNamespace: Setting.make("WINDHOVER_EXT_NAMESPACE", Setting.parseUri, {
    meaning: "XML namespace of the status element.",
    defaultValue: "http://superfeedr.com/xmpp-pubsub-ext"
  }),
  headerPrefix: Setting.make("WINDHOVER_HEADER_PREFIX", Setting.parseHeaderPrefix, {
    meaning: "Prefix that replaces X-Service- in the second copy of a notification's headers.",
    defaultValue: "X-Superfeedr-"
  }),
  hubOpen: Setting.make("WINDHOVER_HUB_OPEN", Setting.parseFlag, {
    meaning: "Serve the open WebSub hub at /hub. Strangers who reach the service can then subscribe callbacks.",
    defaultValue: true,
    defaultText: "true, but false when WINDHOVER_BASE_URL is a public name or address"
  }),
  publishers: Setting.make("WINDHOVER_PUBLISHERS", Setting.parsePublishers, {
    meaning:
      "Publishers that may push content with their pings (hub.content): a URL, a space and a signing secret, separated by commas. "
      + "A URL with a trailing slash covers all URLs below it.",
    defaultValue: [],
    defaultText: "none",
    isSecret: true
  }),
  /** Undefined: on if hubs can reach the base URL, judged by its host. */
  upstreamHubs: Setting.makeOptional("WINDHOVER_UPSTREAM_HUBS", Setting.parseFlag, {
    meaning:
      "Subscribe at publishers' hubs, so that the hubs push new entries. Hubs must be able to reach WINDHOVER_BASE_URL.",
    defaultText: "true when WINDHOVER_BASE_URL is a public name or address"
  }),
  hubQuestionsPerMinute: Setting.make("WINDHOVER_HUB_QUESTIONS_PER_MINUTE", Setting.parseInteger(1, 1_000), {
    meaning:
      "Verifications and denials that the open hub sends to the callbacks of one domain per minute, and as many for existing subscriptions; the rest waits.",
    defaultValue: 10
  }),
  hubSubscriptionsPerSite: Setting.make("WINDHOVER_HUB_SUBSCRIPTIONS_PER_SITE", Setting.parseInteger(1, 10_000_000), {
    meaning: "Maximum of open-hub subscriptions with callbacks on one domain, or in one network (IPv4 /24, IPv6 /48).",
    defaultValue: 10_000
  }),
  requestsPerMinute: Setting.makeOptional("WINDHOVER_REQUESTS_PER_MINUTE", Setting.parseInteger(1, 1_000_000), {
    meaning: "Requests per minute for one token or password; more are answered 429.",
    defaultText: "no bound"
  }),
  trustedProxies: Setting.make("WINDHOVER_TRUSTED_PROXIES", Setting.parseNetworks, {
    meaning:
      "Addresses or networks of reverse proxies, separated by commas. Failed logins are counted by the client address in the proxies' X-Forwarded-For.",
    defaultValue: [],
    defaultText: "none"
  }),
  /** In lower case. Undefined: no proxy signs in. */
  proxyLoginHeader: Setting.makeOptional("WINDHOVER_PROXY_LOGIN_HEADER", Setting.parseLoginHeader, {
    meaning:
      "Header in which a proxy of WINDHOVER_TRUSTED_PROXIES names the login of the person that it has authenticated, such as X-Forwarded-User: the dashboard then needs no password. The proxy has to replace this header in every request.",
    defaultText: "no proxy signs in"
  }),
  /** Undefined: OpenID Connect is off, and its library is not loaded. */
  oidcIssuer: Setting.makeOptional("WINDHOVER_OIDC_ISSUER", Setting.parseIssuer, {
    meaning:
      "Issuer of OpenID Connect, at which people sign in to the dashboard. Its callback is <WINDHOVER_BASE_URL>/dashboard/sign-in/provider/callback.",
    defaultText: "OpenID Connect is off"
  }),
  oidcClientId: Setting.makeOptional("WINDHOVER_OIDC_CLIENT_ID", Setting.parseText, {
    meaning: "Id of Windhover as a client of the issuer.",
    defaultText: "–"
  }),
  oidcClientSecret: Setting.makeOptional("WINDHOVER_OIDC_CLIENT_SECRET", Setting.parseSecret(1), {
    meaning: "Secret of Windhover as a client of the issuer.",
    defaultText: "none: a public client, with PKCE alone",
    isSecret: true
  }),
  oidcClaim: Setting.make("WINDHOVER_OIDC_CLAIM", Setting.parseText, {
    meaning:
      "Claim of the issuer whose value is the login of an account. Choose a claim that people cannot change themselves.",
    defaultValue: "preferred_username"
  }),
  maxResident: Setting.make("WINDHOVER_MAX_RESIDENT", Setting.parseInteger(100, 10_000_000), {
    meaning: "Actors of this runner that keep their state in memory between two messages; about 2 kB each.",
    defaultValue: 100_000
  }),
  maxFetches: Setting.make("WINDHOVER_MAX_FETCHES", Setting.parseInteger(1, 10_000), {
    meaning: "Maximum of concurrent fetches.",
    defaultValue: 512
  }),
  maxDeliveries: Setting.make("WINDHOVER_MAX_DELIVERIES", Setting.parseInteger(1, 10_000), {
    meaning: "Maximum of concurrent deliveries.",
    defaultValue: 512
  }),
  retry: Setting.make("WINDHOVER_RETRY", Setting.parseOneOf(...retries), {
    meaning:
      "Retries of failed deliveries, for subscriptions without hub.retry on the API: short drops them after 30 s, days after 3 days.",
    defaultValue: "days"
  }),
  /** Undefined = a quarter of the memory of the process. */
  documentMemoryMiB: Setting.makeOptional("WINDHOVER_DOCUMENT_MEMORY", Setting.parseInteger(64, 1_048_576), {
    meaning:
      "Memory of all documents that are fetched, unpacked, read, stored, received or sent at a time, in MiB. Further documents wait.",
    defaultText:
      "a quarter of the memory of the process: of the machine, its control group or its heap, the smallest one"
  }),
  keepDroppedDays: Setting.make("WINDHOVER_KEEP_DROPPED", Setting.parseInteger(1, 3650), {
    meaning: "Days for which dropped deliveries stay visible and can be recovered.",
    defaultValue: 30
  }),
  keepEntries: Setting.make("WINDHOVER_KEEP_ENTRIES", Setting.parseInteger(50, 1_000_000), {
    meaning: "Entries stored for each feed, for retrieval; older entries are deleted about once a day.",
    defaultValue: 1000
  }),
  maxResourceMegabytes: Setting.make("WINDHOVER_MAX_RESOURCE_MB", Setting.parseInteger(16, 100_000), {
    meaning:
      "Entries and notifications stored for one resource, in MiB; the oldest are deleted first. Waiting notifications may have twice as much.",
    defaultValue: 64
  }),
  diskReserveMegabytes: Setting.make("WINDHOVER_DISK_RESERVE_MB", Setting.parseInteger(0, 10_000_000), {
    meaning:
      "Free disk of the embedded database in MiB, below which the open hub accepts no subscription and polls only resources of accounts.",
    defaultValue: 1024
  }),
  /** Undefined = a tenth of the disk of the embedded database, at most 10 GiB; 10 GiB on a server. */
  strangersMegabytes: Setting.makeOptional("WINDHOVER_STRANGERS_MB", Setting.parseInteger(64, 100_000_000), {
    meaning:
      "Bytes stored for all resources without a subscription of an account, in MiB. Beyond, the open hub accepts no subscription, and does not poll these resources until old content is deleted.",
    defaultText: "a tenth of the disk of the embedded database, at most 10240; 10240 on a PostgreSQL server"
  }),
  keepUnwatchedDays: Setting.make("WINDHOVER_KEEP_UNWATCHED", Setting.parseInteger(1, 3650), {
    meaning: "Days for which a resource stays stored after its last subscription has ended.",
    defaultValue: 7
  }),
  maxStreams: Setting.make("WINDHOVER_MAX_STREAMS", Setting.parseInteger(0, 1_000_000), {
    meaning: "Maximum of open streams and long polls.",
    defaultValue: 20_000
  }),
  maxStreamsPerAccount: Setting.make("WINDHOVER_MAX_STREAMS_PER_ACCOUNT", Setting.parseInteger(0, 1_000_000), {
    meaning: "Maximum of open streams and long polls of one account.",
    defaultValue: 5_000
  }),
  /** Undefined: XMPP is off. The domain and the secret are set with the component. */
  xmppComponent: Setting.makeOptional("WINDHOVER_XMPP_COMPONENT", Setting.parseDomain, {
    meaning: "Name of the XMPP component that subscribers talk to, as configured in the XMPP server.",
    defaultText: "XMPP is off"
  }),
  xmppDomain: Setting.make("WINDHOVER_XMPP_DOMAIN", Setting.parseDomain, {
    meaning: "Domain of the XMPP accounts, <login>@<domain>, on the same server.",
    defaultValue: "",
    defaultText: "–"
  }),
  xmppSecret: Setting.makeOptional("WINDHOVER_XMPP_SECRET", Setting.parseSecret(8), {
    meaning: "Secret that the component shares with its server, at least 8 characters.",
    defaultText: "–",
    isSecret: true
  }),
  xmppHost: Setting.make("WINDHOVER_XMPP_HOST", Setting.parseText, {
    meaning:
      "Host on which the XMPP server accepts components. Use a private network: the connection is not encrypted.",
    defaultValue: "127.0.0.1"
  }),
  xmppPort: Setting.make("WINDHOVER_XMPP_PORT", Setting.parseInteger(1, 65535), {
    meaning: "TCP port on which the XMPP server accepts components.",
    defaultValue: 5347
  }),
  /** Undefined: only a server on this machine may check logins. */
  xmppAuthSecret: Setting.makeOptional("WINDHOVER_XMPP_AUTH_SECRET", Setting.parseSecret(16), {
    meaning: "Lets an XMPP server on another machine check logins at /internal/xmpp/auth; at least 16 characters.",
    defaultText: "only servers on this machine may",
    isSecret: true
  }),
  xmppLegacyItems: Setting.make("WINDHOVER_XMPP_LEGACY_ITEMS", Setting.parseFlag, {
    meaning:
      "Send XMPP notifications as clients of the original service expect, unless an account has chosen (windhover account set --legacy-item-namespace).",
    defaultValue: false
  }),
  metricsPort: Setting.makeOptional("WINDHOVER_METRICS_PORT", Setting.parseInteger(1, 65535), {
    meaning: "TCP port that serves /metrics in place of WINDHOVER_PORT, on the same address.",
    defaultText: "WINDHOVER_PORT"
  }),
  /** Undefined: only clients on this machine may read. */
  metricsToken: Setting.makeOptional("WINDHOVER_METRICS_TOKEN", Setting.parseSecret(16), {
    meaning: "Lets clients on other machines read /metrics, as a bearer token; at least 16 characters.",
    defaultText: "only this machine may",
    isSecret: true
  }),
  accessLog: Setting.make("WINDHOVER_ACCESS_LOG", Setting.parseFlag, {
    meaning: "Log each request: client, method, path without its query, status and time.",
    defaultValue: false
  }),
  logFormat: Setting.make("WINDHOVER_LOG_FORMAT", Setting.parseOneOf("logfmt", "json"), {
    meaning: "logfmt or json: one line per record on standard error.",
    defaultValue: "logfmt"
  }),
  logLevel: Setting.make("WINDHOVER_LOG_LEVEL", Setting.parseOneOf("debug", "info", "warn", "error"), {
    meaning: "debug, info, warn or error.",
    defaultValue: "info"
  })
}

/** Values of all settings. */
export type SettingsValues = {
  readonly [Name in keyof typeof settingsTable]: (typeof settingsTable)[Name] extends Setting.Setting<infer Value> ?
    Value
    : never
}
