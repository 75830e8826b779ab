import { Effect, Layer } from "effect"
import { Ownership } from "#actors/cluster/Partitions.ts"
import { makeBounces } from "./Bounces.ts"
import { makeFollow } from "./Follow.ts"
import { Hub } from "./Hub.ts"
import { makeHubCallbacks } from "./HubCallbacks.ts"
import { makeList, makeListBriefly } from "./List.ts"
import { Listeners } from "#actors/stream/Listeners.ts"
import { makePublish } from "./Publish.ts"
import { makeReplay } from "./Replay.ts"
import { makeRetrieve } from "./Retrieve.ts"
import { makeSubscribe } from "./Subscribe.ts"
import { makeSubscribeJid } from "./SubscribeJid.ts"
import { makeUnsubscribe } from "./Unsubscribe.ts"

/** Puts the operations together; each lives in a file of its own. */
export const layer = Layer.effect(
  Hub,
  Effect.gen(function*() {
    const retrieve = yield* makeRetrieve
    return Hub.of({
      subscribe: yield* makeSubscribe,
      subscribeJid: yield* makeSubscribeJid,
      unsubscribe: yield* makeUnsubscribe,
      list: yield* makeList,
      listBriefly: yield* makeListBriefly,
      retrieve,
      replay: yield* makeReplay,
      follow: yield* makeFollow(retrieve),
      attach: (yield* Listeners).attach,
      publish: yield* makePublish,
      ...(yield* makeBounces),
      ...(yield* makeHubCallbacks),
      ready: (yield* Ownership).ready
    })
  })
)
