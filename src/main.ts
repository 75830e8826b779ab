import { Layer } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import * as AdministrationLayer from "./cli/AdministrationLayer.ts"
import * as AdministrationSocket from "./cli/AdministrationSocket.ts"
import * as FirstAccount from "./cli/FirstAccount.ts"
import * as Windhover from "./Windhover.ts"

/** With an embedded database, the command line reaches the service through the data directory; otherwise it opens the database itself. */
const administration = Layer.unwrap(
  Settings.useSync(({ databaseUrl, dataDir }) =>
    databaseUrl === undefined ? AdministrationSocket.layerServer(dataDir) : Layer.empty
  )
).pipe(Layer.provide(AdministrationLayer.layer))

/** The service of `windhover serve` over its database and settings. Shutdown stops the server first, then the actors, then the stores. */
export const layer = Windhover.provideServer(
  Layer.mergeAll(FirstAccount.layerReady, administration).pipe(Layer.provideMerge(Windhover.layerService)),
  FirstAccount.layer
)
