import { assert } from "@effect/vitest"
import { Effect, Layer, Option, Redacted, Result, Schema } from "effect"
import { HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { RunnerResources } from "#actors/cluster/Runner.ts"
import { type ListedRunner, Runners } from "#actors/cluster/Runners.ts"
import { Hub } from "#actors/operations/Hub.ts"
import { DeliveryReports } from "#actors/operations/DeliveryReports.ts"
import { Export } from "#actors/operations/Export.ts"
import { Import } from "#actors/operations/Import.ts"
import { Recovery } from "#actors/operations/Recovery.ts"
import { Inspector } from "#actors/operations/Inspector.ts"
import { ResourceReports } from "#actors/operations/ResourceReports.ts"
import { TrafficHistory } from "#actors/runtime/TrafficHistory.ts"
import { SubscriptionControl } from "#actors/operations/SubscriptionControl.ts"
import { Secrets } from "#actors/operations/Secrets.ts"
import { type Caller, type Right, rights, tokenRights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { Outbox } from "#domain/ports/Outbox.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { Pings } from "#domain/ports/Pings.ts"
import { SessionStore } from "#domain/ports/SessionStore.ts"
import { WriteProbe } from "#domain/ports/WriteProbe.ts"
import { managementRoutes } from "#http/management/ManagementRoutes.ts"
import * as Routes from "#http/Routes.ts"
import * as Settings from "#layers/Settings.ts"

/** A parsed response. */
export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly body: string
}

export const caller = (granted: ReadonlyArray<Right> = rights): Caller => ({
  account: { id: 1, login: "alice", credits: 0, createdAt: 0 },
  rights: new Set(granted),
  credential: "token:1"
})

/** `alice:wonder` has all rights but `admin`, `alice:operator` that one, too, and `alice:RIGHT` only the named one. */
export const accounts = Layer.mock(AccountStore, {
  rightsOf: (credentials) =>
    Effect.succeed(new Map(credentials.map((credential) => [credential, new Set(rights)] as const))),
  authenticate: (login, secret) => {
    const text = Redacted.value(secret)
    const right = rights.find((name) => name === text)
    if (login !== "alice") return Effect.succeedNone
    if (right !== undefined) return Effect.succeedSome(caller([right]))
    if (text === "operator") return Effect.succeedSome(caller(tokenRights))
    return Effect.succeed(text === "wonder" ? Option.some(caller()) : Option.none())
  }
})

export const basic = (secret = "wonder") => ({
  authorization: `Basic ${Buffer.from(`alice:${secret}`).toString("base64")}`
})

export const writes = Layer.succeed(WriteProbe, { attempt: Effect.void })

/** A runner that shows the pages, and a silent one of another version. */
const runners: ReadonlyArray<ListedRunner> = [
  {
    name: "a.example:34431",
    version: "1.0.0",
    startedAt: Date.now() - 3 * 86_400_000,
    seenAt: Date.now(),
    partitions: 256,
    healthy: 12_003,
    failing: 7,
    late: 1,
    traffic: { polls: 1_200, delivered: 3_400, failedDeliveries: 5 },
    cpu: 0.31,
    eventLoop: 0.042,
    memory: 412_000_000,
    isThis: true,
    isSilent: false
  },
  {
    name: "b.example:34431",
    version: "0.9.0",
    startedAt: Date.now() - 9 * 86_400_000,
    seenAt: Date.now() - 300_000,
    partitions: 112,
    healthy: 5_120,
    failing: 3,
    late: 0,
    cpu: 0.02,
    eventLoop: 0.01,
    memory: 300_000_000,
    isThis: false,
    isSilent: true
  }
]

/** Services of the management API, and an empty overview. An unmocked method dies. */
export const management = Layer.mergeAll(
  Layer.mock(DeliveryReports, { list: () => Effect.succeed({ items: [] }) }),
  Layer.mock(Recovery, {}),
  Layer.mock(SubscriptionControl, {}),
  Layer.mock(Secrets, {}),
  Layer.mock(Import, {}),
  Layer.mock(Export, {}),
  Layer.mock(ResourceReports, { failingHosts: () => Effect.succeed({ resources: [], callbacks: [] }) }),
  Layer.mock(Inspector, {}),
  Layer.mock(Runners, { list: Effect.succeed(runners) }),
  Layer.mock(TrafficHistory, { minutes: Effect.succeed([]) }),
  Layer.mock(RunnerResources, { count: Effect.succeed({ partitions: 1, healthy: 0, failing: 0, late: 0 }) })
)

/** Stores of the dashboard that no test of the API reads. */
export const dashboardStores = Layer.mergeAll(
  Layer.mock(SessionStore, {}),
  Layer.mock(HubSubscriptionStore, {}),
  Layer.mock(Pings, {})
)

/** An outbox in which three deliveries wait, the oldest one since the epoch. */
export const outbox = Layer.mock(Outbox, { measure: Effect.succeed({ waiting: 3, oldestAt: 0 }) })

/** The routes without a socket, over a mocked hub. An unmocked method dies. */
export const makeApi = Effect.fnUntraced(function*(
  hub: Partial<Hub["Service"]>,
  store: Layer.Layer<AccountStore> = accounts,
  settings: Partial<SettingsValues> = {},
  writing: Layer.Layer<WriteProbe> = writes,
  services: typeof management = management
) {
  const app = yield* HttpRouter.toHttpEffect(
    Routes.layer.pipe(
      Layer.provide([
        Layer.mock(Hub, hub),
        services,
        store,
        writing,
        outbox,
        dashboardStores,
        Settings.layerValues(settings)
      ])
    )
  )
  return (url: string, init: RequestInit = {}, address = "192.0.2.1"): Effect.Effect<Answer> =>
    app.pipe(
      Effect.provideService(
        HttpServerRequest.HttpServerRequest,
        HttpServerRequest.fromWeb(new Request(`http://windhover.test${url}`, init)).modify({
          remoteAddress: Option.some(address)
        })
      ),
      Effect.orDie,
      Effect.flatMap((response) => {
        const web = HttpServerResponse.toWeb(response)
        return Effect.map(
          Effect.promise(() => web.text()),
          (body) => ({ status: web.status, headers: web.headers, body })
        )
      }),
      Effect.scoped // a request ends with its body
    )
})

/** A form with alice's credentials. Pass fields as pairs to repeat one. */
export const form = (
  fields: Record<string, string> | ReadonlyArray<readonly [string, string]>,
  headers: Record<string, string> = basic()
): RequestInit => {
  const body = new URLSearchParams()
  for (const [name, value] of Array.isArray(fields) ? fields : Object.entries(fields)) body.append(name, value)
  return {
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
    body: body.toString()
  }
}

/** The answer of a route below `/api`, with its parsed JSON. */
export interface ManagementAnswer extends Answer {
  // oxlint-disable-next-line typescript/no-explicit-any -- tests look at parts of any JSON
  readonly json: any
}

/**
 * The management API over some of its services: `Layer.merge(management, Layer.mock(Recovery, {…}))`.
 *
 * A GET sends `input` as its query, a POST as a JSON object. Alice has all rights; `secret` can be the name of a single right.
 */
export const makeManagementApi = Effect.fnUntraced(
  function*(services: typeof management = management, settings: Partial<SettingsValues> = {}) {
    const api = yield* makeApi({}, accounts, settings, writes, services)
    return (method: "GET" | "POST", path: string, input: object = {}, secret = "wonder") =>
      Effect.map(
        method === "GET"
          ? api(`${path}?${new URLSearchParams(input as Record<string, string>)}`, { headers: basic(secret) })
          : api(path, {
            method,
            headers: { ...basic(secret), "content-type": "application/json" },
            body: JSON.stringify(input)
          }),
        (answer): ManagementAnswer => ({ ...answer, json: JSON.parse(answer.body) })
      )
  }
)

/** Fails when the OpenAPI document does not describe the answer of the route. */
export const assertDescribed = (path: string, { json, status }: ManagementAnswer) => {
  assert.strictEqual(status, 200)
  const route = managementRoutes.find((route) => route.path === path)
  const schema: Schema.Codec<unknown> = route?.output ?? Schema.Never
  const decoded = Schema.decodeUnknownResult(schema)(json, { onExcessProperty: "error" })
  assert.isTrue(Result.isSuccess(decoded), Result.isFailure(decoded) ? String(decoded.failure) : "")
}
