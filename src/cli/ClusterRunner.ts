import * as NodeClusterSocket from "@effect/platform-node/NodeClusterSocket"
import { Effect, Layer, Option } from "effect"
import { MessageStorage, RunnerAddress, ShardingConfig, SqlRunnerStorage } from "effect/cluster"
import { shardingConfig } from "#actors/cluster/Runner.ts"
import * as RunnerWatch from "#actors/cluster/RunnerWatch.ts"
import * as ShardLeaseLayer from "#actors/cluster/ShardLeaseLayer.ts"
import { toListenError } from "#layers/server/ListenError.ts"

/** A runner of a cluster at the given address. The database records the runner of each shard. */
export const layer = ({ host, port }: { readonly host: string; readonly port: number }) => {
  const address = RunnerAddress.make(host, port)
  const config = { ...shardingConfig, runnerAddress: Option.some(address) }
  const runner = RunnerWatch.layer(address).pipe(
    Layer.provideMerge(NodeClusterSocket.layer({ storage: "byo", shardingConfig: config })),
    Layer.provide(MessageStorage.layerNoop),
    Layer.provideMerge(ShardLeaseLayer.layer),
    Layer.provide(SqlRunnerStorage.layer.pipe(Layer.provide(ShardingConfig.layer(config))))
  )
  const variable = "WINDHOVER_RUNNER_ADDRESS"
  return Layer.effectContext(
    Effect.catchTag(
      Layer.build(runner),
      "SocketServerError",
      ({ reason }) =>
        Effect.fail(toListenError({ host, port, hostVariable: variable, portVariable: variable }, reason.cause))
    )
  )
}
