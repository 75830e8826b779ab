import { Console, Effect, Layer, Option, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { mkdirSync, rmSync, writeFileSync } from "node:fs"
import { isIPv6 } from "node:net"
import { dirname, join, resolve } from "node:path"
import { tokenRights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { isLoopbackHost } from "#domain/OwnAddress.ts"
import { Settings, type SettingsValues } from "#domain/ports/Settings.ts"
import { makeToken } from "#layers/sql/Credentials.ts"

/** The account that this start has created. */
interface FirstAccount {
  readonly login: string
  /** Undefined when the operator has set the password in the settings. */
  readonly password: string | undefined
  /** Undefined when the operator has set the token in the settings. */
  readonly token: string | undefined
}

/**
 * Creates the first account, with login, password and token of the settings. Returns undefined when an account exists.
 *
 * Each start gives the token of the settings to the account, so that a changed setting takes effect.
 */
export const ensureAccount = Effect.gen(function*() {
  const accounts = yield* AccountStore
  const { adminLogin, adminPassword, adminToken } = yield* Settings
  const existing = yield* accounts.find(adminLogin)
  if (Option.isNone(existing) && (yield* accounts.list({ limit: 1 })).items.length > 0) return undefined
  const password = adminPassword ?? (yield* makeToken)
  const created = Option.isSome(existing) ? Option.none() : yield* createUnlessTaken(accounts, adminLogin, password)
  if (Option.isNone(created) && adminToken === undefined) return undefined
  const account = Option.getOrUndefined(Option.orElse(created, () => existing)) ??
    Option.getOrUndefined(yield* accounts.find(adminLogin))
  if (account === undefined) return undefined
  const { secret } = yield* accounts.createToken({
    accountId: account.id,
    name: "first",
    rights: tokenRights,
    ...(adminToken === undefined ? {} : { preset: adminToken })
  })
  return Option.isNone(created) ? undefined : {
    login: account.login,
    password: adminPassword === undefined ? Redacted.value(password) : undefined,
    token: adminToken === undefined ? Redacted.value(secret) : undefined
  }
})

/** Returns none when another runner, which starts at the same time, has just created the account. */
const createUnlessTaken = (accounts: AccountStore["Service"], login: string, password: Redacted.Redacted) =>
  accounts.create(login, password, { admin: true }).pipe(
    Effect.asSome,
    Effect.catchTag("LoginTaken", () => Effect.succeedNone)
  )

/** URL of the service on its own machine. */
const localUrl = Effect.gen(function*() {
  const { address } = yield* HttpServer.HttpServer
  const { host } = yield* Settings
  return makeLocalUrl(host, "port" in address ? address.port : 0)
})

/**
 * Creates the first account and prints its secrets at once, before the service starts its work.
 *
 * A process that is killed before that output would leave an account with unknown secrets.
 */
export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const account = yield* ensureAccount
  if (account !== undefined) yield* tell(account, yield* localUrl)
}))

/**
 * Prints the secrets on a terminal, or writes them to a file: the one of the settings, or one of the data directory.
 *
 * Output without a terminal ends up in a journal or a file, which many may read for long.
 */
const tell = Effect.fnUntraced(function*(account: FirstAccount, url: string) {
  const text = renderWelcome(account, url)
  const { dataDir, firstAccountFile } = yield* Settings
  const isShown = process.stdout.isTTY || !hasSecrets(account)
  if (firstAccountFile === undefined && isShown) return yield* Console.log(text)
  const file = resolve(firstAccountFile ?? join(dataDir, "first-account.txt"))
  yield* Effect.sync(() => {
    mkdirSync(dirname(file), { recursive: true, mode: 0o700 })
    rmSync(file, { force: true }) // an existing file would keep its mode, and a link would lead elsewhere
    writeFileSync(file, text, { mode: 0o600, flag: "wx" })
  })
  yield* Console.log(
    `The first account was created. Its secrets are in ${file}; move them to a safe place, and delete the file.`
  )
})

const hasSecrets = ({ password, token }: FirstAccount): boolean => password !== undefined || token !== undefined

/** Creates the first account before the first start of the service, and prints its secrets. Returns false when an account exists. */
export const create = Effect.gen(function*() {
  const account = yield* ensureAccount
  const { host, port } = yield* Settings
  if (account !== undefined) yield* tell(account, makeLocalUrl(host, port))
  return account !== undefined
})

/** Prints the URLs of the service, and tells who can reach it. */
export const layerReady = Layer.effectDiscard(Effect.gen(function*() {
  const { baseUrl, host, hubOpen } = yield* Settings
  for (const sentence of describeExposure({ host, hubOpen })) yield* Effect.logInfo(sentence)
  yield* Console.log(
    `Windhover is ready on ${yield* localUrl} (subscribers reach it at ${baseUrl}); dashboard: ${baseUrl}/dashboard`
  )
}))

/** The networks that reach the service, and the strangers who may use it: one sentence each, for the log of a start. */
export const describeExposure = (
  { host, hubOpen }: Pick<SettingsValues, "host" | "hubOpen">
): ReadonlyArray<string> => [
  isLoopbackHost(host)
    ? "Windhover listens on this machine only; WINDHOVER_BASE_URL and WINDHOVER_HOST open it to others."
    : "Windhover listens on the network; WINDHOVER_HOST=127.0.0.1 restricts it to this machine.",
  hubOpen
    ? "The open hub at /hub is on: every client that reaches it may subscribe. WINDHOVER_HUB_OPEN=false turns it off."
    : "The open hub at /hub is off. WINDHOVER_HUB_OPEN=true lets every client subscribe without an account."
]

/** Hosts whose URL on the machine is `localhost`: all addresses, and loopback. */
const localHosts: ReadonlySet<string> = new Set(["0.0.0.0", "::", "127.0.0.1", "localhost"])

/** URL, on the machine itself, of a server that listens on this host. */
export const makeLocalUrl = (host: string, port: number): string =>
  `http://${localHosts.has(host) ? "localhost" : isIPv6(host) ? `[${host}]` : host}:${port}`

const renderWelcome = ({ login, password, token }: FirstAccount, url: string) =>
  [
    "The first account was created. These secrets are shown only once:",
    `  login     ${login}`,
    `  password  ${password ?? "(as set in WINDHOVER_ADMIN_PASSWORD)"}`,
    `  token     ${token ?? "(as set in WINDHOVER_ADMIN_TOKEN)"}`,
    `Sign in to the dashboard at ${url}/dashboard with the login and the password.`,
    "",
    "Subscribe a webhook to a feed once Windhover is ready (no output means success):",
    `  curl -u ${login}:${token ?? "$WINDHOVER_ADMIN_TOKEN"} ${url}/ \\`,
    "    -d hub.mode=subscribe -d hub.topic=https://xkcd.com/rss.xml \\",
    "    -d hub.callback=https://example.org/your/webhook -d hub.secret=a-secret-of-yours",
    ""
  ].join("\n")
