import { Cause, Effect, Layer, Option, Schedule } from "effect"
import { withoutPrecedence } from "#domain/limits/AccountPrecedence.ts"
import { refuseUnavailable } from "#domain/Refusal.ts"
import * as Resource from "#actors/resource/Resource.ts"
import { makeRareWarning } from "#actors/runtime/RareWarning.ts"
import { Partition } from "./Partition.ts"
import { Partitions } from "./Partitions.ts"
import { AwakePartitions } from "./PartitionStarter.ts"

/** Waits between two calls to an owner that cannot be reached: 25 times 200 ms. A shard that moves has its next owner by then. */
const callRetries = Schedule.spaced("200 millis").pipe(Schedule.upTo({ times: 25 }))

const warnUnreachable = makeRareWarning(
  "The owner of a partition could not be reached; it reads the change from the database."
)

/** Calls an owner. Returns none after a failure, or after 10 s. */
const callOwner = <A, E>(rpc: Effect.Effect<A, E>): Effect.Effect<Option.Option<A>> =>
  rpc.pipe(
    Effect.retry(callRetries),
    Effect.timeoutOption("10 seconds"),
    Effect.catchCause((cause) => Effect.as(warnUnreachable(Cause.squash(cause)), Option.none<A>()))
  )

/** Calls an owner, and drops the result. */
const runAtOwner = <A, E>(rpc: Effect.Effect<A, E>): Effect.Effect<void> => Effect.asVoid(callOwner(rpc))

const tooManyWaiting = refuseUnavailable(
  "Too many requests wait for the first document of this topic. Please retry in 5 s.",
  5
)

export const layer = Layer.effect(
  Partitions,
  Effect.gen(function*() {
    const client = yield* Partition.client
    const awake = yield* AwakePartitions
    const at = (partition: number) => client(String(partition))
    /** A message to the actor where this runner has the partition: a call of the cluster allocates a seventh of the memory of a ping. */
    const ping = (partition: number, id: number) =>
      Effect.suspend(() =>
        awake.get(partition)?.resources.tell(id, Resource.ping) ?? runAtOwner(at(partition).Ping({ id }))
      )
    return Partitions.of({
      ping,
      pingIfPolled: (partition, id) =>
        Effect.suspend(() => {
          const resources = awake.get(partition)?.resources
          return resources?.hasAlarm(id) === true
            ? Effect.as(resources.tell(id, Resource.ping), true)
            : Effect.succeed(false)
        }),
      push: (partition, id, document) => runAtOwner(at(partition).Push({ id, ...document, byHub: false })),
      hubPush: (partition, id, document) =>
        at(partition).Push({ id, ...document, byHub: true }).pipe(
          Effect.timeoutOption("8 seconds"),
          Effect.match({ onFailure: () => false, onSuccess: Option.isSome })
        ),
      reloadHubSubscription: (partition, id) => runAtOwner(at(partition).ReloadHubSubscription({ id })),
      reloadResource: (partition, id) => runAtOwner(at(partition).ReloadResource({ id })),
      rebase: (partition, id) => runAtOwner(at(partition).Rebase({ id })),
      reloadSubscription: (partition, id) => runAtOwner(at(partition).ReloadSubscription({ id })),
      firstFetch: (partition, id) =>
        withoutPrecedence(Effect.timeoutOption(callOwner(at(partition).FirstFetch({ id })), "5 seconds")).pipe(
          Effect.flatMap((reply) =>
            Option.getOrUndefined(Option.flatten(reply)) === false ? Effect.fail(tooManyWaiting) : Effect.void
          )
        ),
      forget: (partition, id) => runAtOwner(at(partition).Forget({ id }))
    })
  })
)
