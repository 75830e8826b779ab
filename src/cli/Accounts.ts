import { Config, Console, Effect, Layer, Option, type Path } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { SocketError } from "effect/socket/Socket"
import { rights } from "#domain/Account.ts"
import { Settings } from "#domain/ports/Settings.ts"
import * as AccountStoreSql from "#layers/sql/AccountStoreSql.ts"
import * as Database from "#layers/postgres/Database.ts"
import type { DatabaseError } from "#layers/postgres/DatabaseError.ts"
import * as DeliveryLogSql from "#layers/sql/DeliveryLogSql.ts"
import * as PingsSql from "#layers/sql/PingsSql.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import * as HubSubscriptionStoreSql from "#layers/sql/HubSubscriptionStoreSql.ts"
import * as Administration from "./Administration.ts"

/** In this process, over the database itself: no service runs on it, or the database takes several. */
const direct = Administration.layer.pipe(
  Layer.provide([AccountStoreSql.layer, DeliveryLogSql.layer, PingsSql.layer, HubSubscriptionStoreSql.layer]),
  Layer.provide(Database.layer)
)

/** Through the running service where there is one, since its database belongs to it alone. */
const administration = Layer.unwrap(Effect.gen(function*() {
  const { databaseUrl, dataDir } = yield* Settings
  const served = databaseUrl === undefined && (yield* Administration.isServed(dataDir))
  const chosen: Layer.Layer<Administration.Administration, DatabaseError | SocketError, Path.Path | Settings> = served
    ? Administration.layerSocket(dataDir)
    : direct
  return chosen
})).pipe(Layer.provide(SettingsLayer.layer))

const login = Argument.String("login").pipe(Argument.withDescription("Login of the account"))

const password = Flag.String("password").pipe(
  Flag.withDescription(
    "At least 8 characters; without it WINDHOVER_PASSWORD is read, so that it stays out of the shell's history"
  ),
  Flag.withFallbackConfig(Config.String("WINDHOVER_PASSWORD"))
)

const date = (at: number) => new Date(at).toISOString().slice(0, 10)

const second = (at: number) => new Date(at).toISOString().slice(0, 19)

const table = (rows: ReadonlyArray<ReadonlyArray<string>>): string => {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  return rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ").trimEnd()).join("\n")
}

const createAccount = Command.make(
  "create",
  { login, password },
  Effect.fnUntraced(function*({ login, password }) {
    const administration = yield* Administration.Administration
    const account = yield* administration.createAccount(login, password)
    yield* Console.log(`The account ${account.login} was made.`)
  })
).pipe(Command.withDescription("Make an account"), Command.provide(administration))

const listAccounts = Command.make(
  "list",
  {},
  Effect.fnUntraced(function*() {
    const accounts = yield* (yield* Administration.Administration).accounts
    yield* Console.log(table([
      ["LOGIN", "CREDITS", "SINCE"],
      ...accounts.map(({ createdAt, credits, login }) => [login, String(credits), date(createdAt)])
    ]))
  })
).pipe(Command.withDescription("List the accounts"), Command.provide(administration))

const setPassword = Command.make(
  "password",
  { login, password },
  Effect.fnUntraced(function*({ login, password }) {
    yield* (yield* Administration.Administration).setPassword(login, password)
    yield* Console.log(`The password of ${login} was changed.`)
  })
).pipe(Command.withDescription("Change the password of an account"), Command.provide(administration))

const setAccount = Command.make(
  "set",
  {
    login,
    jid: Flag.String("jid").pipe(
      Flag.withDescription(
        "Address for XMPP from a server of one's own, or the domain of an external component; empty takes it away"
      ),
      Flag.optional
    ),
    legacyItemNamespace: Flag.Boolean("legacy-item-namespace").pipe(
      Flag.withDescription(
        "Entries of XMPP notifications are where old clients look for them (--no-…: where XEP-0060 says)"
      ),
      Flag.optional
    )
  },
  Effect.fnUntraced(function*({ jid, legacyItemNamespace, login }) {
    yield* (yield* Administration.Administration).changeAccount(login, {
      ...(Option.isNone(jid) ? {} : { jid: jid.value === "" ? null : jid.value }),
      ...(Option.isNone(legacyItemNamespace) ? {} : { legacyItemNamespace: legacyItemNamespace.value })
    })
    yield* Console.log(`The account ${login} was changed.`)
    if (Option.isSome(jid) && jid.value !== "" && !jid.value.includes("@")) {
      yield* Console.log(
        `${jid.value} speaks for it now: its server, or the component of that name, subscribes for all addresses of the domain. Those addresses themselves do not.`
      )
    }
  })
).pipe(Command.withDescription("Change the settings of an account"), Command.provide(administration))

export const account = Command.make("account").pipe(
  Command.withDescription("Accounts: create, list, password, set"),
  Command.withSubcommands([createAccount, listAccounts, setPassword, setAccount])
)

const createToken = Command.make(
  "create",
  {
    login,
    name: Flag.String("name").pipe(Flag.withDescription("What it is for"), Flag.withDefault("")),
    rights: Flag.Literals("right", rights).pipe(
      Flag.withDescription("A right of the token; repeat it for several (default: all)"),
      Flag.between(0, rights.length)
    )
  },
  Effect.fnUntraced(function*({ login, name, rights: granted }) {
    const administration = yield* Administration.Administration
    const { secret, token } = yield* administration.createToken(login, name, granted.length === 0 ? rights : granted)
    yield* Console.log(`Token ${token.id} of ${login} (${token.rights.join(", ")}), shown this once:\n${secret}`)
  })
).pipe(
  Command.withDescription("Make a token: a password of programs, with rights of its own"),
  Command.provide(administration)
)

const listTokens = Command.make(
  "list",
  { login },
  Effect.fnUntraced(function*({ login }) {
    const tokens = yield* (yield* Administration.Administration).tokens(login)
    yield* Console.log(table([
      ["ID", "NAME", "SINCE", "RIGHTS"],
      ...tokens.map(({ createdAt, id, name, rights }) => [String(id), name, date(createdAt), rights.join(", ")])
    ]))
  })
).pipe(Command.withDescription("List the tokens of an account"), Command.provide(administration))

const revokeToken = Command.make(
  "revoke",
  { login, id: Argument.Int("id").pipe(Argument.withDescription("Id of the token, as 'token list' shows it")) },
  Effect.fnUntraced(function*({ id, login }) {
    yield* (yield* Administration.Administration).revokeToken(login, id)
    yield* Console.log(`Token ${id} of ${login} was revoked.`)
  })
).pipe(Command.withDescription("Revoke a token"), Command.provide(administration))

export const token = Command.make("token").pipe(
  Command.withDescription("Tokens of an account: create, list, revoke"),
  Command.withSubcommands([createToken, listTokens, revokeToken])
)

/** As much of a failure's text as a line has room for. */
const short = (text: string) => text.length > 100 ? `${text.slice(0, 99)}…` : text

const maxLimit = 10_000

const limit = Flag.Int("limit").pipe(
  Flag.filter(
    (limit) => limit >= 1 && limit <= maxLimit,
    () => `a whole number from 1 to ${maxLimit}`
  ),
  Flag.withDescription(`How many, from 1 to ${maxLimit}; 50 when it is not given`),
  Flag.withDefault(50)
)

/** What both lists take: whose, and how many. */
const ofAccount = (login: string) => ({
  login: Argument.String("login").pipe(Argument.withDescription(login), Argument.optional),
  limit
})

export const pings = Command.make(
  "pings",
  ofAccount("Login of the account that sent them; without it those of everybody"),
  Effect.fnUntraced(function*({ limit, login }) {
    const pings = yield* (yield* Administration.Administration).pings(Option.getOrUndefined(login), limit)
    yield* Console.log(table([
      ["RECEIVED", "OUTCOME", "TOPIC"],
      ...pings.map(({ outcome, receivedAt, topic, withContent }) => [
        second(receivedAt),
        short(withContent ? `content: ${outcome}` : outcome),
        topic
      ])
    ]))
  })
).pipe(
  Command.withDescription("List publishers' pings, newest first, and what came of them"),
  Command.provide(administration)
)

export const hubs = Command.make(
  "hubs",
  { limit },
  Effect.fnUntraced(function*({ limit }) {
    const hubs = yield* (yield* Administration.Administration).hubs(limit)
    yield* Console.log(table([
      ["HUB", "SUBSCRIPTIONS", "PUSHED", "MISSED", "RELIED ON"],
      ...hubs.map(({ hub, missed, pushed, subscriptions, trust }) => [
        hub,
        String(subscriptions),
        String(pushed),
        String(missed),
        trust
      ])
    ]))
  })
).pipe(
  Command.withDescription("List the hubs of publishers that are subscribed at, and how they do"),
  Command.provide(administration)
)

/** When it is tried again, or why it is not. */
const next = (one: Administration.TryView): string => {
  if (one.fate !== "failed") return one.fate
  return one.nextTry === undefined ? "dropped" : second(one.nextTry)
}

export const deliveries = Command.make(
  "deliveries",
  ofAccount("Login of the account whose subscriptions they are of; without it those of everybody"),
  Effect.fnUntraced(function*({ limit, login }) {
    const tries = yield* (yield* Administration.Administration).deliveries(Option.getOrUndefined(login), limit)
    yield* Console.log(table([
      ["TIME", "TRY", "NEXT", "CODE", "TOOK", "ANSWER", "NOTIFICATION", "CALLBACK", "TOPIC"],
      ...tries.map((one) => [
        second(one.triedAt),
        one.fate === "denied" || one.attempt === 0 ? "" : String(one.attempt),
        next(one),
        one.code === 0 ? "" : String(one.code),
        one.latency === undefined ? "" : `${one.latency} ms`,
        short(one.message),
        one.fate === "denied" ? "" : `${one.sequence} of subscription ${one.subscriptionId}`,
        one.endpoint,
        one.topic
      ])
    ]))
  })
).pipe(
  Command.withDescription(
    "List how deliveries went, newest first, and what comes next: failed tries, each subscription's last success, ends"
  ),
  Command.provide(administration)
)
