import { Effect, Schema } from "effect"
import { ResourceReports } from "#actors/operations/ResourceReports.ts"
import { TrafficHistory } from "#actors/runtime/TrafficHistory.ts"
import { checkOfAll } from "./CheckOfAll.ts"
import * as Field from "./Fields.ts"
import { makeRoute, type ManagementRoute } from "./ManagementRoute.ts"

const group = "Overview"

const hosts = Schema.Array(Schema.Struct({ host: Schema.String, count: Schema.Int }))

const failingHosts = makeRoute({
  method: "GET",
  path: "/api/failing-hosts",
  right: "list",
  group,
  summary: "Lists the hosts with the most failing resources, and with the most failing callbacks",
  input: Schema.Struct({ all: Field.ofAll }),
  output: Schema.Struct({ resources: hosts, callbacks: hosts }),
  run: Effect.fnUntraced(function*({ all = false }, { caller }) {
    yield* checkOfAll(caller, all)
    return yield* ResourceReports.use((reports) => reports.failingHosts({ caller, ofAll: all }))
  })
})

const seconds = Field.optional(
  Schema.Finite.annotate({ description: "Seconds within which 95 % were done, rounded up; absent without any." })
)

const traffic = makeRoute({
  method: "GET",
  path: "/api/traffic",
  right: "admin",
  group,
  summary: "Shows the traffic of this runner per minute for the last 24 hours, oldest first",
  input: Schema.Struct({}),
  output: Schema.Struct({
    minutes: Schema.Array(Schema.Struct({
      time: Field.time,
      entries: Schema.Int,
      delivered: Schema.Int,
      failedDeliveries: Schema.Int,
      polls: Schema.Int,
      failedPolls: Schema.Int,
      deliveryLag: seconds,
      pollLateness: seconds
    }))
  }),
  run: () =>
    TrafficHistory.use((history) =>
      Effect.map(history.minutes, (minutes) => ({
        minutes: minutes.map(({ at, ...counts }) => ({ time: Field.formatTime(at), ...counts }))
      }))
    )
})

export const overviewRoutes: ReadonlyArray<ManagementRoute<ResourceReports | TrafficHistory>> = [failingHosts, traffic]
