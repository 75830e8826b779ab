import { Layer } from "effect"
import { Settings } from "#domain/ports/Settings.ts"
import * as Administration from "./cli/Administration.ts"
import * as FirstAccount from "./cli/FirstAccount.ts"
import * as Windhover from "./Windhover.ts"

/** With an embedded database, the command line reaches the service through the data directory; otherwise it opens the database itself. */
const administration = Layer.unwrap(
  Settings.useSync(({ databaseUrl, dataDir }) =>
    databaseUrl === undefined ? Administration.layerServer(dataDir) : Layer.empty
  )
).pipe(Layer.provide(Administration.layer))

/** The service of `windhover serve` over its database and settings. Shutdown stops the server first, then the actors, then the stores. */
export const layer = Windhover.provideServer(
  Layer.mergeAll(FirstAccount.layerTold, administration).pipe(Layer.provideMerge(Windhover.layerService)),
  FirstAccount.layer
)
