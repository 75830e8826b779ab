import { Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { Hub } from "#actors/operations/Hub.ts"
import type { AccountStore } from "#domain/ports/AccountStore.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import * as Routes from "#http/Routes.ts"
import * as HttpServerNode from "#layers/server/HttpServerNode.ts"
import * as Settings from "#layers/Settings.ts"
import { accounts, dashboardStores, management, outbox, writes } from "./Api.ts"
import { open } from "./RawHttp.ts"

/** Longer than any test. Tests of slow clients use timeouts of their own. */
const patient: HttpServerNode.ServerTimeouts = {
  headerMs: 300_000,
  requestMs: 300_000,
  checkIntervalMs: 300_000,
  idleMs: 300_000
}

/** Serves the routes on a real socket over a mocked hub. Returns the port and a function that opens a connection. */
export const serveRoutes = Effect.fnUntraced(
  function*(
    hub: Partial<Hub["Service"]>,
    store: Layer.Layer<AccountStore> = accounts,
    settings: Partial<SettingsValues> = {},
    timeouts: HttpServerNode.ServerTimeouts = patient,
    spare?: Parameters<typeof HttpServerNode.layerWith>[1]
  ) {
    const services = yield* Layer.build(
      Routes.layerServed.pipe(
        Layer.provideMerge(HttpServerNode.layerWith(timeouts, spare)),
        Layer.provide([
          Layer.mock(Hub, hub),
          management,
          store,
          writes,
          outbox,
          dashboardStores,
          Settings.layerValues({ port: 0, host: "127.0.0.1", ...settings })
        ])
      )
    )
    const { address } = yield* HttpServer.HttpServer.pipe(Effect.provideContext(services))
    const port = "port" in address ? address.port : 0
    return { port, connect: open(port) }
  }
)
