import { Effect, Schema } from "effect"
import { Runners } from "#actors/cluster/Runners.ts"
import { refuseStoreErrors } from "#actors/operations/StoreRefusal.ts"
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

const runners = makeRoute({
  method: "GET",
  path: "/api/runners",
  right: "admin",
  group,
  summary: "Lists the runners of this service, with their partitions and their load",
  input: Schema.Struct({}),
  output: Schema.Struct({
    runners: Schema.Array(Schema.Struct({
      name: Schema.String.annotate({ description: "Address in the cluster, or the machine of a process alone." }),
      version: Schema.String,
      started: Field.time,
      seen: Field.time.annotate({ description: "Last sign of life; runners report every 20 s." }),
      silent: Schema.Boolean.annotate({ description: "True without a sign of life for 65 s." }),
      self: Schema.Boolean.annotate({ description: "True for the runner that answers." }),
      partitions: Schema.Int,
      healthy: Schema.Int,
      failing: Schema.Int,
      late: Schema.Int.annotate({ description: "Resources whose poll is more than a minute late." }),
      polls: Field.optional(Schema.Int.annotate({ description: "In the last minute." })),
      delivered: Field.optional(Schema.Int),
      failedDeliveries: Field.optional(Schema.Int),
      cpu: Schema.Finite.annotate({ description: "CPU of all threads; 1 is a core." }),
      eventLoop: Schema.Finite.annotate({
        description: "Share of the time in which the main thread was busy, 0 to 1."
      }),
      memory: Schema.Int.annotate({ description: "Resident memory in bytes." })
    }))
  }),
  run: () =>
    Effect.map(refuseStoreErrors(Runners.use(({ list }) => list)), (all) => ({
      runners: all.map(({ isSilent, isThis, seenAt, startedAt, traffic, ...runner }) => ({
        ...runner,
        ...traffic,
        started: Field.formatTime(startedAt),
        seen: Field.formatTime(seenAt),
        silent: isSilent,
        self: isThis
      }))
    }))
})

export const overviewRoutes: ReadonlyArray<ManagementRoute<ResourceReports | Runners | TrafficHistory>> = [
  failingHosts,
  traffic,
  runners
]
