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
import { EventsBaseUrl } from "#domain/ports/EventLog.ts"
import { MaxResourceBytes } from "#domain/ports/ResourceStore.ts"
import { AccountPrecedence } from "#domain/limits/AccountPrecedence.ts"
import { StrangerLedger } from "#domain/limits/StrangerLedger.ts"
import { Settings, type SettingsValues } from "#domain/ports/Settings.ts"
import { Precedence } from "#domain/ports/Precedence.ts"
import { StrangersLedger } from "#domain/ports/StrangersLedger.ts"
import * as Routes from "#http/Routes.ts"
import * as AddressCheckDns from "#layers/outbound/AddressCheckDns.ts"
import * as DelivererHttp from "#layers/outbound/DelivererHttp.ts"
import * as FetcherUndici from "#layers/outbound/FetcherUndici.ts"
import * as HubClientHttp from "#layers/outbound/HubClientHttp.ts"
import * as IdentityProviderOidc from "#layers/outbound/IdentityProviderOidc.ts"
import * as IntentVerifierHttp from "#layers/outbound/IntentVerifierHttp.ts"
import * as Network from "#layers/outbound/Network.ts"
import * as Version from "#layers/outbound/Version.ts"
import * as Database from "#layers/postgres/Database.ts"
import * as DiskRoomStatfs from "#layers/postgres/DiskRoomStatfs.ts"
import * as HttpServerNode from "#layers/server/HttpServerNode.ts"
import * as DocumentMemory from "#layers/DocumentMemory.ts"
import * as LanguageDetectorCld3 from "#layers/LanguageDetectorCld3.ts"
import * as ProcessLoadNode from "#layers/ProcessLoadNode.ts"
import * as ProcessMetrics from "#layers/ProcessMetrics.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import * as EncryptionKeys from "#layers/sql/EncryptionKeys.ts"
import * as StrangersDiskSql from "#layers/sql/StrangersDiskSql.ts"
import * as StoresSql from "#layers/sql/StoresSql.ts"
import * as FeedReaderWorker from "#layers/workers/FeedReaderWorker.ts"
import * as SelectorWorker from "#layers/workers/SelectorWorker.ts"
import { getComponentConfig } from "#xmpp/ComponentConfig.ts"

/** The cluster of a single process: it holds every partition and needs no network. */
export const layerSingleRunner = Sharding.layer.pipe(
  Layer.provide(Runners.layerNoop),
  Layer.provide(MessageStorage.layerNoop),
  Layer.provide([RunnerStorage.layerMemory, RunnerHealth.layerNoop]),
  Layer.provide(ShardingConfig.layer(shardingConfig))
)

/** Sockets of a cluster are loaded for several runners only. */
const layerRunner = Layer.unwrap(Effect.gen(function*() {
  const { runnerAddress } = yield* Settings
  if (runnerAddress === undefined) return layerSingleRunner
  const { layer } = yield* Effect.promise(() => import("#main/cli/ClusterRunner.ts"))
  return layer(runnerAddress)
}))

/** The ports to documents, callbacks and hubs: `Fetcher`, `Deliverer`, `IntentVerifier`, `HubClient`, `FeedReader`, `Selector`, `AddressCheck`, `LanguageDetector`. */
export const layerOutbound = Layer.mergeAll(
  FetcherUndici.layer,
  DelivererHttp.layer,
  IntentVerifierHttp.layer,
  HubClientHttp.layer,
  IdentityProviderOidc.layer,
  AddressCheckDns.layer,
  FeedReaderWorker.layer,
  SelectorWorker.layer,
  LanguageDetectorCld3.layer
).pipe(Layer.provide(Network.layer))

/** All stores over the database of the settings. */
export const layerStores = StoresSql.layer.pipe(
  Layer.provide(EncryptionKeys.layer),
  Layer.provide(Layer.effect(
    MaxResourceBytes,
    Effect.map(Settings, ({ maxResourceMegabytes }) => maxResourceMegabytes * 1024 * 1024)
  )),
  Layer.provide(Layer.effect(EventsBaseUrl, Effect.map(Settings, ({ baseUrl }) => baseUrl)))
)

/** The `Hub` over its ports, with webhooks as the only channel: resources are polled and notifications delivered, but no face listens. */
export const layerHub = ActorsLayer.layer.pipe(Layer.provide(Senders.layer))

/** `/metrics` on a port of its own where the settings name one. */
const layerMetricsPort = Layer.unwrap(
  Settings.useSync(({ metricsPort }) =>
    metricsPort === undefined ? Layer.empty : HttpServerNode.provideMetricsPort(Routes.layerMetricsServed, metricsPort)
  )
)

/** A part of XMPP, whose modules load only where the settings name a component. */
const whenXmppIsOn = <E, R>(load: () => Promise<Layer.Layer<never, E, R>>): Layer.Layer<never, E, R | Settings> =>
  Layer.unwrap(Effect.flatMap(Settings, (settings) =>
    getComponentConfig(settings) === undefined
      ? Effect.succeed<Layer.Layer<never, E, R>>(Layer.empty)
      : Effect.promise(load)))

const layerXmppService = whenXmppIsOn(async () => (await import("#xmpp/Service.ts")).layer)

/** Replaces the senders by those with the channel `xmpp`. */
const layerXmppSender = whenXmppIsOn(async () => (await import("#xmpp/Sender.ts")).layer)

/** The `Hub` with the HTTP and XMPP faces, over stores and settings. Shutdown stops the server first, then the actors. */
export const layerService = Layer.mergeAll(
  Routes.layerServed,
  layerMetricsPort,
  ProcessMetrics.layer,
  layerXmppService
).pipe(
  Layer.provideMerge(ActorsLayer.layer),
  Layer.provide(Layer.provideMerge(layerXmppSender, Senders.layer))
)

/** Gives `service` its HTTP server, runner, outbound ports and stores. `beside` starts with them, before the service. */
export const provideServer = <A, E, R, A2, E2, R2>(service: Layer.Layer<A, E, R>, beside: Layer.Layer<A2, E2, R2>) =>
  service.pipe(
    Layer.provide(Layer.mergeAll(layerRunner, layerOutbound, beside)),
    Layer.provide(DocumentMemory.layer),
    Layer.provide(Layer.sync(StrangersLedger, () => new StrangerLedger())),
    Layer.provide(HttpServerNode.layerSettings),
    Layer.provideMerge(HttpServerNode.layer),
    Layer.provideMerge(layerStores),
    Layer.provide(StrangersDiskSql.layer.pipe(Layer.provide(DiskRoomStatfs.layer))),
    Layer.provide([Version.layer, ProcessLoadNode.layer, Layer.sync(Precedence, () => new AccountPrecedence())])
  )

/**
 * A whole Windhover inside another Effect program: database, actors, HTTP and XMPP, for as long as the scope lives.
 *
 * `settings` replace the defaults; environment variables are not read. Provides the `Hub`, every store and the HTTP server.
 */
export const layer = (settings: Partial<SettingsValues> = {}) =>
  provideServer(layerService, Layer.empty).pipe(
    Layer.provide(Database.layer),
    Layer.provide(SettingsLayer.layerValues(settings))
  )
