import { Effect, Layer } from "effect"
import * as MessageStorage from "effect/cluster/MessageStorage"
import * as RunnerHealth from "effect/cluster/RunnerHealth"
import * as Runners from "effect/cluster/Runners"
import * as RunnerStorage from "effect/cluster/RunnerStorage"
import * as Sharding from "effect/cluster/Sharding"
import * as ShardingConfig from "effect/cluster/ShardingConfig"
import * as ActorsLayer from "#actors/ActorsLayer.ts"
import { shardingConfig } from "#actors/cluster/Runner.ts"
import * as Senders from "#actors/subscription/Senders.ts"
import { Settings } from "#domain/ports/Settings.ts"
import * as Routes from "#http/Routes.ts"
import * as DelivererHttp from "#layers/outbound/DelivererHttp.ts"
import * as FeedReader from "#layers/workers/FeedReader.ts"
import * as SelectorWorker from "#layers/workers/SelectorWorker.ts"
import * as FetcherUndici from "#layers/outbound/FetcherUndici.ts"
import * as HubClientHttp from "#layers/outbound/HubClientHttp.ts"
import * as HttpServerNode from "#layers/server/HttpServerNode.ts"
import * as IntentVerifierHttp from "#layers/outbound/IntentVerifierHttp.ts"
import * as Network from "#layers/outbound/Network.ts"
import * as StoresSql from "#layers/sql/StoresSql.ts"
import * as Version from "#layers/outbound/Version.ts"
import * as XmppSender from "#xmpp/Sender.ts"
import * as XmppService from "#xmpp/Service.ts"
import * as Administration from "./cli/Administration.ts"
import * as FirstAccount from "./cli/FirstAccount.ts"

/** One process is a cluster of one: it holds every partition, and nobody has to be asked. */
const alone = Sharding.layer.pipe(
  Layer.provide(Runners.layerNoop),
  Layer.provide(MessageStorage.layerNoop),
  Layer.provide([RunnerStorage.layerMemory, RunnerHealth.layerNoop]),
  Layer.provide(ShardingConfig.layer(shardingConfig))
)

/** One of several is loaded where it is asked for: sockets of a cluster are nothing to a single process. */
const cluster = Layer.unwrap(Effect.gen(function*() {
  const { runnerAddress } = yield* Settings
  if (runnerAddress === undefined) return alone
  const { layer } = yield* Effect.promise(() => import("#main/cli/ClusterRunner.ts"))
  return layer(runnerAddress)
}))

/** What lies outside: documents, callbacks, the database. */
const outside = Layer.mergeAll(
  FetcherUndici.layerNoDeps,
  DelivererHttp.layerNoDeps,
  IntentVerifierHttp.layerNoDeps,
  HubClientHttp.layerNoDeps,
  FeedReader.layer,
  SelectorWorker.layer
).pipe(Layer.provide(Network.layer))

/** The command line reaches a service with an embedded database through its data directory; others have the database. */
const administration = Layer.unwrap(
  Settings.useSync(({ databaseUrl, dataDir }) =>
    databaseUrl === undefined ? Administration.layerServer(dataDir) : Layer.empty
  )
).pipe(Layer.provide(Administration.layer))

/** The service over its database and settings. It stops in this order: the server first, then actors, then the stores. */
export const layer = Layer.mergeAll(FirstAccount.layerTold, administration).pipe(
  Layer.provideMerge(Layer.mergeAll(Routes.layerServed, XmppService.layer)),
  Layer.provide(ActorsLayer.layer),
  Layer.provide(XmppSender.layer),
  Layer.provide(Senders.layer),
  Layer.provide(Layer.mergeAll(cluster, outside, FirstAccount.layer)),
  Layer.provide(HttpServerNode.layerSettings),
  Layer.provideMerge(HttpServerNode.layer),
  Layer.provide([StoresSql.layer, Version.layer])
)
