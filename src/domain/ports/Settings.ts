import { Context, type Redacted } from "effect"

/** What the operator decided, read once from the environment and validated together (`windhover settings` lists it). */
export interface SettingsValues {
  /** TCP port of the HTTP server; 0 = any free one. */
  readonly port: number
  readonly host: string
  /** Where subscribers reach the service; no trailing slash. */
  readonly baseUrl: string
  readonly dataDir: string
  /** PostgreSQL ≥ 14; undefined = the embedded database in `dataDir`. */
  readonly databaseUrl: Redacted.Redacted | undefined
  readonly adminLogin: string
  readonly adminPassword: Redacted.Redacted | undefined
  readonly adminToken: Redacted.Redacted | undefined
  /** Fetch from and deliver to private addresses as well (demo, tests, a trusted network). */
  readonly allowPrivate: boolean
  /** Seconds; 60 but for tests. */
  readonly minPeriod: number
  /** An id that only differs in scheme, or in the host along with its neighbours, is the known one. */
  readonly followMovedIds: boolean
  /** Judge feeds by the words of their titles, see `PornRank`. */
  readonly pornRank: boolean
  /** Seconds: the longest period of a resource that somebody waits for and that answers; undefined = 15 times `minPeriod`. */
  readonly maxPeriod: number | undefined
  /** `host:port` under which other runners reach this one; undefined = alone. */
  readonly runnerAddress: { readonly host: string; readonly port: number } | undefined
  /** Extension namespace of status and XMPP. */
  readonly extNamespace: string
  /** Prefix of the second spelling of `X-Service-Credits` and `X-Service-Retried`. */
  readonly headerPrefix: string
  readonly hubOpen: boolean
  /** Who may send content with a ping: URLs that begin so (where it ends with a slash), and the secret that signs it. */
  readonly publishers: ReadonlyArray<{ readonly prefix: string; readonly secret: Redacted.Redacted }>
  /** Subscribe at the hubs of publishers; undefined: when hubs can reach the base URL, by its look. */
  readonly upstreamHubs: boolean | undefined
  /** Verifications and refusals that the hub face sends to one site in a minute, at most, and as many again about what stands there. */
  readonly hubQuestionsPerMinute: number
  /** Subscriptions of the hub face whose callbacks are on one site, at most. */
  readonly hubSubscriptionsPerSite: number
  /** Requests of one token or password in a minute; undefined = no bound. */
  readonly requestsPerMinute: number | undefined
  /** Networks (`10.0.0.0/8`) of reverse proxies whose `X-Forwarded-For` is believed. */
  readonly trustedProxies: ReadonlyArray<string>
  /** Actors that keep their state in memory between messages, over all partitions of this runner. */
  readonly maxResident: number
  /** Fetches and deliveries under way at once. */
  readonly maxFetches: number
  readonly maxDeliveries: number
  /** Days that dropped deliveries are kept. */
  readonly keepDropped: number
  /** Entries that are kept of each feed. */
  readonly keepEntries: number
  /** Streams and polls that are held open at once, and how many of them for one account. */
  readonly maxStreams: number
  readonly maxStreamsPerAccount: number
  /** Name of the XMPP component; undefined: XMPP is off. The domain and the secret are set with it. */
  readonly xmppComponent: string | undefined
  /** Domain of the XMPP accounts, `<login>@<domain>`, on the component's server. */
  readonly xmppDomain: string
  /** What the component and its server share. */
  readonly xmppSecret: Redacted.Redacted | undefined
  /** Where the server takes components. */
  readonly xmppHost: string
  readonly xmppPort: number
  /** Lets an XMPP server on another machine check logins; undefined: only one on this machine may. */
  readonly xmppAuthSecret: Redacted.Redacted | undefined
  readonly logLevel: "debug" | "info" | "warn" | "error"
}

export class Settings extends Context.Service<Settings, SettingsValues>()("windhover/domain/ports/Settings") {}
