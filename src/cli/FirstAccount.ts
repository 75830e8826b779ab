import { Console, Effect, Layer, Option, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { isIPv6 } from "node:net"
import { rights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { makeToken } from "#layers/sql/Credentials.ts"

/** What is told of the account that this start made; undefined when it made none. */
interface Made {
  readonly login: string
  /** Undefined: the operator has set it. So with the token. */
  readonly password: string | undefined
  readonly token: string | undefined
}

/**
 * Makes the first account when there is none, with what the settings preset, and tells its secrets once.
 *
 * A preset token is given to the account at every start, so that a changed setting is what counts.
 */
const ensure = Effect.gen(function*() {
  const accounts = yield* AccountStore
  const { adminLogin, adminPassword, adminToken } = yield* Settings
  const existing = yield* accounts.find(adminLogin)
  if (Option.isNone(existing) && (yield* accounts.list).length > 0) return undefined
  const password = adminPassword ?? (yield* makeToken)
  const account = Option.isSome(existing) ? existing.value : yield* accounts.create(adminLogin, password)
  if (Option.isSome(existing) && adminToken === undefined) return undefined
  const { secret } = yield* accounts.createToken({
    accountId: account.id,
    name: "first",
    rights,
    ...(adminToken === undefined ? {} : { preset: adminToken })
  })
  return Option.isSome(existing) ? undefined : {
    login: account.login,
    password: adminPassword === undefined ? Redacted.value(password) : undefined,
    token: adminToken === undefined ? Redacted.value(secret) : undefined
  }
})

/** Where the server that listens is reached from its machine. */
const here = Effect.gen(function*() {
  const { address } = yield* HttpServer.HttpServer
  const { host } = yield* Settings
  return urlOf(host, "port" in address ? address.port : 0)
})

/**
 * Made before the service starts its work, whose first moments are busy, and told at once: what a process that is killed has not told is lost,
 * and nobody gets in without an account.
 */
export const layer = Layer.effectDiscard(Effect.gen(function*() {
  const made = yield* ensure
  if (made !== undefined) yield* Console.log(welcome(made, yield* here))
}))

/** Tells where the service is reached. */
export const layerTold = Layer.effectDiscard(Effect.gen(function*() {
  const { baseUrl } = yield* Settings
  yield* Console.log(`Windhover is ready on ${yield* here} (subscribers reach it at ${baseUrl})`)
}))

/** What listens on all addresses, or on loopback, is reached as `localhost`; everything else by its own name. */
const asLocalhost: ReadonlySet<string> = new Set(["0.0.0.0", "::", "127.0.0.1", "localhost"])

/** Where a server that listens on this host is reached from its machine. */
export const urlOf = (host: string, port: number): string =>
  `http://${asLocalhost.has(host) ? "localhost" : isIPv6(host) ? `[${host}]` : host}:${port}`

const welcome = (made: Made, url: string) =>
  [
    "The first account was made. What follows is shown this once:",
    `  login     ${made.login}`,
    `  password  ${made.password ?? "(as set in WINDHOVER_ADMIN_PASSWORD)"}`,
    `  token     ${made.token ?? "(as set in WINDHOVER_ADMIN_TOKEN)"}`,
    "",
    "Subscribe a webhook to a feed when it is ready (no output means that it is done):",
    `  curl -u ${made.login}:${made.token ?? "$WINDHOVER_ADMIN_TOKEN"} ${url}/ \\`,
    "    -d hub.mode=subscribe -d hub.topic=https://xkcd.com/rss.xml \\",
    "    -d hub.callback=https://example.org/your/webhook -d hub.secret=a-secret-of-yours",
    ""
  ].join("\n")
