import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import * as os from "node:os"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { available } from "#test/support/Available.ts"
import { serveRoutes } from "#test/support/RoutesServer.ts"

/** An address of this machine that is not loopback: its connections are those of another machine. */
const ownAddress = Object.values(os.networkInterfaces()).flat().find((one) => one?.family === "IPv4" && !one.internal)
  ?.address

const hasAddress = await available(
  "an address of the network",
  ownAddress === undefined ? Promise.reject(new Error("This machine has loopback only.")) : Promise.resolve()
)

describe.skipIf(!hasAddress)("/metrics from outside", () => {
  const ask = (
    settings: Partial<SettingsValues>,
    host: string,
    path = "/metrics",
    headers: Record<string, string> = {}
  ) =>
    Effect.gen(function*() {
      const { port } = yield* serveRoutes({}, undefined, { host: "0.0.0.0", ...settings })
      return yield* Effect.promise(async () => {
        const response = await fetch(`http://${host}:${port}${path}`, { headers })
        const text = await response.text()
        return [response.status, text.includes("windhover_polls_total")]
      })
    }).pipe(Effect.scoped)

  it.live("is refused on a real socket, whatever the client says of its address or path", () =>
    Effect.gen(function*() {
      const outside = ownAddress ?? ""
      assert.deepStrictEqual(yield* ask({}, "127.0.0.1"), [200, true])
      assert.deepStrictEqual(yield* ask({}, outside), [403, false])
      for (
        const headers of [{ "x-forwarded-for": "127.0.0.1" }, { forwarded: "for=127.0.0.1" }, { host: "localhost" }]
      ) {
        assert.deepStrictEqual(yield* ask({}, outside, "/metrics", headers), [403, false])
        for (const trustedProxies of [[`${outside}/32`], ["0.0.0.0/0"]]) {
          assert.deepStrictEqual(yield* ask({ trustedProxies }, outside, "/metrics", headers), [403, false])
        }
      }
      for (
        const path of ["/metrics/", "//metrics", "/metrics?authorization=x", "/%6detrics", "/METRICS", "/./metrics"]
      ) {
        assert.isFalse((yield* ask({}, outside, path))[1], path)
      }
    }))
})
