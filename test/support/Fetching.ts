import { it } from "@effect/vitest"
import { Effect, Layer, type Scope } from "effect"
import { Deliverer } from "#domain/ports/Deliverer.ts"
import { Fetcher, type FetchError, type FetchRequest } from "#domain/ports/Fetcher.ts"
import * as DelivererHttp from "#layers/outbound/DelivererHttp.ts"
import * as FetcherUndici from "#layers/outbound/FetcherUndici.ts"
import * as Network from "#layers/outbound/Network.ts"

/** Fetcher and Deliverer over real sockets. Loopback is allowed by default. */
export const outside = (options: Partial<Network.NetworkOptions> = {}): Layer.Layer<Fetcher | Deliverer> =>
  Layer.mergeAll(FetcherUndici.layer, DelivererHttp.layer).pipe(
    Layer.provide(Network.layerWith({ allowPrivate: true, baseUrl: "http://windhover.example", ...options }))
  )

/** A test on real sockets, without the test clock. */
export const live = (
  name: string,
  body: () => Effect.Effect<unknown, unknown, Fetcher | Deliverer | Scope.Scope>,
  options?: Partial<Network.NetworkOptions>
) => it.live(name, () => Effect.scoped(Effect.provide(body(), outside(options))))

export const fetch = (request: FetchRequest | string) =>
  Fetcher.use((fetcher) => fetcher.fetch(typeof request === "string" ? { url: request } : request))

/** Error of a failed fetch as `Tag: message`. */
export const failureOf = (request: FetchRequest | string): Effect.Effect<string, unknown, Fetcher> =>
  Effect.map(Effect.flip(fetch(request)), (error: FetchError) => `${error.reason._tag}: ${error.message}`)

/** Result of a delivery to a callback: its status, or `Tag: message`. */
export const postTo = (
  callback: string,
  headers: ReadonlyArray<readonly [string, string]> = []
): Effect.Effect<string, never, Deliverer> =>
  Deliverer.use((deliverer) =>
    deliverer.post({ id: "1-1", callback, contentType: "text/plain", body: Buffer.from("x"), headers })
  )
    .pipe(
      Effect.match({
        onFailure: ({ message, reason }) => `${reason._tag}: ${message}`,
        onSuccess: ({ status }) => String(status)
      })
    )
