import { Effect, Layer } from "effect"
import { Hub } from "#actors/operations/Hub.ts"
import { OpenPings } from "#http/OpenPings.ts"
import { makePingThrottle } from "./PingThrottle.ts"

export const layer = Layer.effect(
  OpenPings,
  Effect.gen(function*() {
    const hub = yield* Hub
    return OpenPings.of({ publish: yield* makePingThrottle(hub.publish) })
  })
)
