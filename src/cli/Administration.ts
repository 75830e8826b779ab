import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import { Context, Effect, FileSystem, Layer, Option, Path, Redacted, Schema } from "effect"
import * as Rpc from "effect/rpc/Rpc"
import * as RpcClient from "effect/rpc/RpcClient"
import type * as ClientError from "effect/rpc/RpcClientError"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as RpcSerialization from "effect/rpc/RpcSerialization"
import * as RpcServer from "effect/rpc/RpcServer"
import { connect } from "node:net"
import { type AccountChanges, loginProblem, type Right, rights } from "#domain/Account.ts"
import type { PingOutcome } from "#domain/poll/PingOutcome.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { DeliveryLog } from "#domain/ports/DeliveryLog.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import type { StoreError } from "#domain/ports/StoreError.ts"
import * as Jid from "#domain/Jid.ts"
import { type HubReport, maxConsecutiveMisses } from "#domain/websub/HubSubscription.ts"

/** What an administrator asked for cannot be done; `message` says why and what to do. */
export class AdministrationError extends Schema.TaggedError<AdministrationError>()("AdministrationError", {
  message: Schema.String
}) {}

const AccountView = Schema.Struct({
  id: Schema.Int,
  login: Schema.String,
  credits: Schema.Finite,
  createdAt: Schema.Finite
})

const TokenView = Schema.Struct({
  id: Schema.Int,
  name: Schema.String,
  rights: Schema.Array(Schema.Literals(rights)),
  createdAt: Schema.Finite
})

const PingView = Schema.Struct({
  topic: Schema.String,
  receivedAt: Schema.Finite,
  withContent: Schema.Boolean,
  /** What came of it, in words. */
  outcome: Schema.String
})

const HubView = Schema.Struct({
  hub: Schema.String,
  subscriptions: Schema.Int,
  pushed: Schema.Finite,
  missed: Schema.Finite,
  /** Whether it is relied on, and for how many, in words. */
  trust: Schema.String
})

const tried = {
  topic: Schema.String,
  endpoint: Schema.String,
  triedAt: Schema.Finite,
  code: Schema.Int,
  message: Schema.String,
  latency: Schema.optionalKey(Schema.Finite)
}

const TryView = Schema.Union([
  Schema.Struct({
    ...tried,
    fate: Schema.Literals(["delivered", "failed", "bounced", "ended"]),
    subscriptionId: Schema.Finite,
    sequence: Schema.Finite,
    attempt: Schema.Int,
    nextTry: Schema.optionalKey(Schema.Finite)
  }),
  Schema.Struct({ ...tried, fate: Schema.Literal("denied") })
])
export type TryView = typeof TryView.Type

const call = <const Tag extends string, P extends Schema.Struct.Fields, S extends Schema.Top>(
  tag: Tag,
  payload: P,
  success: S
) => Rpc.make(tag, { payload, success, error: AdministrationError })

/**
 * The administrator's operations, as calls between the command line and a running service.
 *
 * The embedded database belongs to one process; while the service runs, the command line reaches it through a Unix socket
 * in the data directory, which only the directory's owner can open.
 */
export class Calls extends RpcGroup.make(
  call("CreateAccount", { login: Schema.String, password: Schema.String }, AccountView),
  call("ListAccounts", {}, Schema.Array(AccountView)),
  call("ChangeAccount", {
    login: Schema.String,
    jid: Schema.optionalKey(Schema.NullOr(Schema.String)),
    legacyItemNamespace: Schema.optionalKey(Schema.Boolean)
  }, Schema.Void),
  call("SetPassword", { login: Schema.String, password: Schema.String }, Schema.Void),
  call(
    "CreateToken",
    { login: Schema.String, name: Schema.String, rights: Schema.Array(Schema.Literals(rights)) },
    Schema.Struct({ token: TokenView, secret: Schema.String })
  ),
  call("ListTokens", { login: Schema.String }, Schema.Array(TokenView)),
  call("RevokeToken", { login: Schema.String, id: Schema.Int }, Schema.Void),
  call("ListPings", { login: Schema.optionalKey(Schema.String), limit: Schema.Int }, Schema.Array(PingView)),
  call("ListDeliveries", { login: Schema.optionalKey(Schema.String), limit: Schema.Int }, Schema.Array(TryView)),
  call("ListHubs", { limit: Schema.Int }, Schema.Array(HubView))
) {}

type Failing<A> = Effect.Effect<A, AdministrationError>

/** The same operations for the commands, wherever they are carried out. */
export class Administration extends Context.Service<Administration, {
  readonly createAccount: (login: string, password: string) => Failing<typeof AccountView.Type>
  readonly accounts: Failing<ReadonlyArray<typeof AccountView.Type>>
  readonly setPassword: (login: string, password: string) => Failing<void>
  /** Checks a JID, and writes it as addresses are compared. */
  readonly changeAccount: (login: string, changes: AccountChanges) => Failing<void>
  readonly createToken: (
    login: string,
    name: string,
    rights: ReadonlyArray<Right>
  ) => Failing<{ readonly token: typeof TokenView.Type; readonly secret: string }>
  readonly tokens: (login: string) => Failing<ReadonlyArray<typeof TokenView.Type>>
  readonly revokeToken: (login: string, id: number) => Failing<void>
  /** Newest first; without a login those of everybody. */
  readonly pings: (login: string | undefined, limit: number) => Failing<ReadonlyArray<typeof PingView.Type>>
  /** How deliveries went, newest first; without a login those of everybody. */
  readonly deliveries: (login: string | undefined, limit: number) => Failing<ReadonlyArray<TryView>>
  /** Publishers' hubs that this service subscribes at, those with most subscriptions first. */
  readonly hubs: (limit: number) => Failing<ReadonlyArray<typeof HubView.Type>>
}>()("windhover/cli/Administration") {}

const failed = (message: string) => new AdministrationError({ message })

const away = <A>(effect: Effect.Effect<A, StoreError | AdministrationError>): Failing<A> =>
  Effect.mapError(effect, (error) => error._tag === "StoreError" ? failed(error.message) : error)

const inWords = (outcome: PingOutcome | undefined): string => {
  switch (outcome?._tag) {
    case undefined:
      return "not fetched yet"
    case "NoSubscriber":
      return "no subscriber"
    case "Unchanged":
      return `${outcome.code}, unchanged`
    case "Changed":
      return outcome.entries === 0 ? `${outcome.code}, changed` : `${outcome.code}, ${outcome.entries} new`
    case "Failed":
      return outcome.message
  }
}

const trustInWords = ({ consecutiveMisses, reliable }: HubReport): string =>
  consecutiveMisses >= maxConsecutiveMisses ? "no: dead" : reliable === 0 ? "no" : `for ${reliable}`

const minPasswordLength = 8

const checkPassword = (password: string) =>
  password.length >= minPasswordLength && password.length <= 1024
    ? Effect.void
    : Effect.fail(failed(`A password has ${minPasswordLength} to 1024 characters; this one has ${password.length}.`))

/** What a table of them can show, and a database keep. */
const tokenName = /^\P{Cc}{0,100}$/u

/** In this process, over the account store. */
export const layer = Layer.effect(
  Administration,
  Effect.gen(function*() {
    const store = yield* AccountStore
    const record = yield* Pings
    const log = yield* DeliveryLog
    const upstreams = yield* HubSubscriptionStore
    const account = Effect.fnUntraced(function*(login: string) {
      const found = yield* store.find(login).pipe(away)
      if (Option.isNone(found)) {
        return yield* failed(
          `There is no account ${JSON.stringify(login)}. 'windhover account list' shows those there are.`
        )
      }
      return found.value
    })
    return Administration.of({
      createAccount: Effect.fn("Administration.createAccount")(function*(login, password) {
        const problem = loginProblem(login)
        if (problem !== undefined) return yield* failed(`${JSON.stringify(login)} cannot be a login. ${problem}`)
        yield* checkPassword(password)
        return yield* store.create(login, Redacted.make(password)).pipe(
          Effect.catchTag(
            "LoginTaken",
            () => Effect.fail(failed(`The account ${JSON.stringify(login)} exists already.`))
          ),
          away
        )
      }),
      accounts: store.list.pipe(away, Effect.withSpan("Administration.accounts")),
      setPassword: Effect.fn("Administration.setPassword")(function*(login, password) {
        yield* checkPassword(password)
        const { login: existing } = yield* account(login)
        yield* store.setPassword(existing, Redacted.make(password)).pipe(away)
      }),
      changeAccount: Effect.fn("Administration.changeAccount")(function*(login, { jid, ...others }) {
        const { login: existing } = yield* account(login)
        const bare = jid === undefined || jid === null ? jid : Jid.bareOf(jid)
        if (bare === undefined && jid !== undefined) {
          return yield* failed(
            `${
              JSON.stringify(jid)
            } is no JID; one such as login@example.org is needed, or the domain of an external component.`
          )
        }
        yield* store.update(existing, { ...others, ...(bare === undefined ? {} : { jid: bare }) }).pipe(
          Effect.catchTag(
            "JidTaken",
            () => Effect.fail(failed(`Another account has the JID ${JSON.stringify(bare)}.`))
          ),
          away
        )
      }),
      createToken: Effect.fn("Administration.createToken")(function*(login, name, granted) {
        if (granted.length === 0) return yield* failed(`A token needs at least one right of: ${rights.join(", ")}.`)
        if (!tokenName.test(name)) {
          return yield* failed(
            `${
              JSON.stringify(name)
            } cannot be the name of a token. A name has at most 100 characters, none of them a control character.`
          )
        }
        const { id } = yield* account(login)
        const { secret, token } = yield* store.createToken({ accountId: id, name, rights: granted }).pipe(away)
        return { token, secret: Redacted.value(secret) }
      }),
      tokens: Effect.fn("Administration.tokens")(function*(login) {
        return yield* store.listTokens((yield* account(login)).id).pipe(away)
      }),
      revokeToken: Effect.fn("Administration.revokeToken")(function*(login, id) {
        const revoked = yield* store.revokeToken((yield* account(login)).id, id).pipe(away)
        if (!revoked) return yield* failed(`The account ${JSON.stringify(login)} has no token ${id}.`)
      }),
      pings: Effect.fn("Administration.pings")(function*(login, limit) {
        const mine = login === undefined ? {} : { accountId: (yield* account(login)).id }
        const pings = yield* record.list({ ...mine, limit }).pipe(away)
        return pings.map(({ outcome, receivedAt, topic, withContent }) => ({
          topic,
          receivedAt,
          withContent,
          outcome: inWords(outcome)
        }))
      }),
      deliveries: Effect.fn("Administration.deliveries")(function*(login, limit) {
        const mine = login === undefined ? {} : { accountId: (yield* account(login)).id }
        return yield* log.list({ ...mine, limit }).pipe(away)
      }),
      hubs: Effect.fn("Administration.hubs")(function*(limit) {
        const hubs = yield* upstreams.hubs(limit).pipe(away)
        return hubs.map((report) => {
          const { hub, missed, pushed, subscriptions } = report
          return { hub, subscriptions, pushed, missed, trust: trustInWords(report) }
        })
      })
    })
  })
)

const socketName = "windhover.sock"

/** The kernel takes no longer path of a Unix socket (108 bytes on Linux, 104 elsewhere). */
const maxSocketPath = 100

const handlers = Calls.toLayer(Effect.gen(function*() {
  const administration = yield* Administration
  return Calls.of({
    CreateAccount: ({ login, password }) => administration.createAccount(login, password),
    ListAccounts: () => administration.accounts,
    ChangeAccount: ({ login, ...changes }) => administration.changeAccount(login, changes),
    SetPassword: ({ login, password }) => administration.setPassword(login, password),
    CreateToken: ({ login, name, rights }) => administration.createToken(login, name, rights),
    ListTokens: ({ login }) => administration.tokens(login),
    RevokeToken: ({ id, login }) => administration.revokeToken(login, id),
    ListPings: ({ limit, login }) => administration.pings(login, limit),
    ListDeliveries: ({ limit, login }) => administration.deliveries(login, limit),
    ListHubs: ({ limit }) => administration.hubs(limit)
  })
}))

/** Answers the command line while the service runs; the data directory is locked, so a socket that is already there is a dead one. */
export const layerServer = (dataDir: string) =>
  Layer.unwrap(Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const socket = (yield* Path.Path).join(dataDir, socketName)
    const without = (why: string) =>
      Layer.effectDiscard(
        Effect.logWarning(`${why}: account and token commands work only while the service is stopped.`)
      )
    if (socket.length > maxSocketPath) return without(`The path of ${socket} is too long for a socket`)
    yield* files.remove(socket, { force: true })
    return RpcServer.layer(Calls).pipe(
      Layer.provide(handlers),
      Layer.provide(RpcServer.layerProtocolSocketServer),
      Layer.provide(NodeSocketServer.layer({ path: socket, readableAll: false, writableAll: false })),
      Layer.provide(RpcSerialization.layerNdjson),
      // some file systems, of containers above all, hold no sockets: the service works without
      Layer.catchTag("SocketServerError", ({ reason }) => without(`${socket} cannot be opened (${reason.cause})`))
    )
  }))

const connectionLost = failed("The connection to the running service was lost. Look at its log, then try again.")

/** In the running service of this data directory; fails with a `SocketError` when none runs. */
export const layerSocket = (dataDir: string) => {
  const connected = Layer.unwrap(
    Effect.map(Path.Path, (path) => NodeSocket.layerNet({ path: path.join(dataDir, socketName) }))
  )
  const calls = Effect.gen(function*() {
    const client = yield* RpcClient.make(Calls)
    const lost = <A>(effect: Effect.Effect<A, AdministrationError | ClientError.RpcClientError>): Failing<A> =>
      Effect.mapError(effect, (error) => error._tag === "RpcClientError" ? connectionLost : error)
    return Administration.of({
      createAccount: (login, password) => client.CreateAccount({ login, password }).pipe(lost),
      accounts: client.ListAccounts({}).pipe(lost),
      changeAccount: (login, changes) => client.ChangeAccount({ login, ...changes }).pipe(lost),
      setPassword: (login, password) => client.SetPassword({ login, password }).pipe(lost),
      createToken: (login, name, rights) => client.CreateToken({ login, name, rights }).pipe(lost),
      tokens: (login) => client.ListTokens({ login }).pipe(lost),
      revokeToken: (login, id) => client.RevokeToken({ login, id }).pipe(lost),
      pings: (login, limit) => client.ListPings({ limit, ...(login !== undefined && { login }) }).pipe(lost),
      deliveries: (login, limit) => client.ListDeliveries({ limit, ...(login !== undefined && { login }) }).pipe(lost),
      hubs: (limit) => client.ListHubs({ limit }).pipe(lost)
    })
  })
  return Layer.effect(Administration, calls).pipe(
    Layer.provide(RpcClient.layerProtocolSocket()),
    Layer.provide(connected),
    Layer.provide(RpcSerialization.layerNdjson)
  )
}

/** True when a service runs on this data directory and answers: a process that was killed leaves a socket behind at which nobody does. */
export const isServed = (dataDir: string) =>
  Effect.flatMap(Path.Path, (path) =>
    Effect.callback<boolean>((resume) => {
      const socket = connect(path.join(dataDir, socketName))
      const answer = (served: boolean) => {
        socket.destroy()
        resume(Effect.succeed(served))
      }
      socket.once("connect", () => answer(true)).once("error", () => answer(false))
      return Effect.sync(() => void socket.destroy())
    }))
