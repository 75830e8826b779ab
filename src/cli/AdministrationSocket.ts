import * as NodeSocket from "@effect/platform-node/NodeSocket"
import * as NodeSocketServer from "@effect/platform-node/NodeSocketServer"
import { Effect, FileSystem, Layer, Path, Schema } from "effect"
import * as Rpc from "effect/rpc/Rpc"
import * as RpcClient from "effect/rpc/RpcClient"
import type * as ClientError from "effect/rpc/RpcClientError"
import * as RpcGroup from "effect/rpc/RpcGroup"
import * as RpcSerialization from "effect/rpc/RpcSerialization"
import * as RpcServer from "effect/rpc/RpcServer"
import { connect } from "node:net"
import { tokenRights } from "#domain/Account.ts"
import {
  AccountPageView,
  AccountView,
  Administration,
  type AdministrationEffect,
  AdministrationError,
  DeliveryFilter,
  DeliveryPageView,
  HubView,
  PingView,
  TokenView
} from "./Administration.ts"

const makeRpc = <const Tag extends string, P extends Schema.Struct.Fields, S extends Schema.Top>(
  tag: Tag,
  payload: P,
  success: S
) => Rpc.make(tag, { payload, success, error: AdministrationError })

/**
 * The administrator's operations as RPCs between the command line and a running service.
 *
 * The embedded database belongs to one process. While the service runs, the command line reaches the database through a Unix socket in the
 * data directory. Only the owner of the directory can open the socket.
 */
class AdministrationRpcs extends RpcGroup.make(
  makeRpc(
    "CreateAccount",
    { login: Schema.String, password: Schema.String, admin: Schema.Boolean },
    AccountView
  ),
  makeRpc("ListAccounts", { after: Schema.optionalKey(Schema.Int), limit: Schema.Int }, AccountPageView),
  makeRpc("ChangeAccount", {
    login: Schema.String,
    jid: Schema.optionalKey(Schema.NullOr(Schema.String)),
    legacyItemNamespace: Schema.optionalKey(Schema.Boolean),
    admin: Schema.optionalKey(Schema.Boolean),
    disabled: Schema.optionalKey(Schema.Boolean),
    maxSubscriptions: Schema.optionalKey(Schema.NullOr(Schema.Int))
  }, Schema.Void),
  makeRpc("AddCredits", { login: Schema.String, credits: Schema.Int }, Schema.Finite),
  makeRpc("DeleteAccount", { login: Schema.String }, Schema.Void),
  makeRpc("SetPassword", { login: Schema.String, password: Schema.String }, Schema.Void),
  makeRpc(
    "CreateToken",
    { login: Schema.String, name: Schema.String, rights: Schema.Array(Schema.Literals(tokenRights)) },
    Schema.Struct({ token: TokenView, secret: Schema.String })
  ),
  makeRpc("ListTokens", { login: Schema.String }, Schema.Array(TokenView)),
  makeRpc("RevokeToken", { login: Schema.String, id: Schema.Int }, Schema.Void),
  makeRpc("ListPings", { login: Schema.optionalKey(Schema.String), limit: Schema.Int }, Schema.Array(PingView)),
  makeRpc(
    "ListDeliveries",
    { login: Schema.optionalKey(Schema.String), filter: DeliveryFilter, limit: Schema.Int },
    DeliveryPageView
  ),
  makeRpc("ListHubs", { limit: Schema.Int }, Schema.Array(HubView)),
  makeRpc("Stop", {}, Schema.Void)
) {}

const socketName = "windhover.sock"

/** Maximum length of a Unix socket's path. The kernels accept 108 bytes (Linux) or 104 (other systems). */
const maxSocketPath = 100

const handlers = AdministrationRpcs.toLayer(Effect.gen(function*() {
  const administration = yield* Administration
  return AdministrationRpcs.of({
    CreateAccount: ({ admin, login, password }) => administration.createAccount(login, password, admin),
    ListAccounts: ({ after, limit }) => administration.accounts(after, limit),
    ChangeAccount: ({ login, ...changes }) => administration.changeAccount(login, changes),
    SetPassword: ({ login, password }) => administration.setPassword(login, password),
    AddCredits: ({ credits, login }) => administration.addCredits(login, credits),
    DeleteAccount: ({ login }) => administration.deleteAccount(login),
    CreateToken: ({ login, name, rights }) => administration.createToken(login, name, rights),
    ListTokens: ({ login }) => administration.tokens(login),
    RevokeToken: ({ id, login }) => administration.revokeToken(login, id),
    ListPings: ({ limit, login }) => administration.pings(login, limit),
    ListDeliveries: ({ filter, limit, login }) => administration.deliveries(login, filter, limit),
    ListHubs: ({ limit }) => administration.hubs(limit),
    Stop: () => administration.stop
  })
}))

/** Serves the command line on a socket in the data directory. The directory is locked, so an existing socket belongs to no process. */
export const layerServer = (dataDir: string) =>
  Layer.unwrap(Effect.gen(function*() {
    const files = yield* FileSystem.FileSystem
    const socket = (yield* Path.Path).join(dataDir, socketName)
    const warn = (reason: string) =>
      Layer.effectDiscard(
        Effect.logWarning("Account and token commands work only while the service is stopped: it has no socket.").pipe(
          Effect.annotateLogs({ reason })
        )
      )
    if (socket.length > maxSocketPath) return warn(`The path of ${socket} is too long for a socket`)
    yield* files.remove(socket, { force: true })
    return RpcServer.layer(AdministrationRpcs).pipe(
      Layer.provide(handlers),
      Layer.provide(RpcServer.layerProtocolSocketServer),
      Layer.provide(NodeSocketServer.layer({ path: socket, readableAll: false, writableAll: false })),
      Layer.provide(RpcSerialization.layerNdjson),
      // some file systems, mostly of containers, hold no sockets: the service runs without one
      Layer.catchTag("SocketServerError", ({ reason }) => warn(`${socket} cannot be opened (${reason.cause})`))
    )
  }))

const connectionLost = new AdministrationError({
  message: "The connection to the running service was lost. Look at its log, then try again."
})

const mapClientError = <A>(
  effect: Effect.Effect<A, AdministrationError | ClientError.RpcClientError>
): AdministrationEffect<A> =>
  Effect.mapError(effect, (error) => error._tag === "RpcClientError" ? connectionLost : error)

const makeClient = Effect.gen(function*() {
  const client = yield* RpcClient.make(AdministrationRpcs)
  return Administration.of({
    createAccount: (login, password, admin) => client.CreateAccount({ login, password, admin }).pipe(mapClientError),
    accounts: (after, limit) =>
      client.ListAccounts({ limit, ...(after !== undefined && { after }) }).pipe(mapClientError),
    changeAccount: (login, changes) => client.ChangeAccount({ login, ...changes }).pipe(mapClientError),
    setPassword: (login, password) => client.SetPassword({ login, password }).pipe(mapClientError),
    addCredits: (login, credits) => client.AddCredits({ login, credits }).pipe(mapClientError),
    deleteAccount: (login) => client.DeleteAccount({ login }).pipe(mapClientError),
    createToken: (login, name, rights) => client.CreateToken({ login, name, rights }).pipe(mapClientError),
    tokens: (login) => client.ListTokens({ login }).pipe(mapClientError),
    revokeToken: (login, id) => client.RevokeToken({ login, id }).pipe(mapClientError),
    pings: (login, limit) => client.ListPings({ limit, ...(login !== undefined && { login }) }).pipe(mapClientError),
    deliveries: (login, filter, limit) =>
      client.ListDeliveries({ filter, limit, ...(login !== undefined && { login }) }).pipe(mapClientError),
    hubs: (limit) => client.ListHubs({ limit }).pipe(mapClientError),
    stop: client.Stop({}).pipe(mapClientError)
  })
})

/** Performs the operations in the running service of a data directory. Fails with a `SocketError` when no service runs. */
export const layer = (dataDir: string) => {
  const socket = Layer.unwrap(
    Effect.map(Path.Path, (path) => NodeSocket.layerNet({ path: path.join(dataDir, socketName) }))
  )
  return Layer.effect(Administration, makeClient).pipe(
    Layer.provide(RpcClient.layerProtocolSocket()),
    Layer.provide(socket),
    Layer.provide(RpcSerialization.layerNdjson)
  )
}

/** True when a service runs on the data directory and answers. A killed process leaves a socket that refuses connections. */
export const isServed = (dataDir: string) =>
  Effect.flatMap(Path.Path, (path) =>
    Effect.callback<boolean>((resume) => {
      const socket = connect(path.join(dataDir, socketName))
      const complete = (served: boolean) => {
        socket.destroy()
        resume(Effect.succeed(served))
      }
      socket.once("connect", () => complete(true)).once("error", () => complete(false))
      return Effect.sync(() => void socket.destroy())
    }))
