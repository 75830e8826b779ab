import { Effect } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Hub } from "#actors/Hub.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import * as Reply from "./Reply.ts"

/** Milliseconds that the database has to answer within. */
const deadline = 2_000

/** Answers for those who watch over the service: no credentials, no details. */
export const makeHealth = Effect.gen(function*() {
  const accounts = yield* AccountStore
  const hub = yield* Hub

  /** Whether the service can work: its database answers. */
  const healthz = accounts.find("healthz").pipe(
    Effect.timeout(deadline),
    Effect.match({
      onSuccess: () => Reply.text(200, "ok"),
      onFailure: () => Reply.text(503, "The database does not answer.", { "retry-after": "5" })
    })
  )

  /** Whether it does work: the partitions that it holds are awake. */
  const readyz = Effect.map(hub.ready, (ready) =>
    ready
      ? Reply.text(200, "ok")
      : Reply.text(503, "Some partitions are not awake yet.", { "retry-after": "1" }))

  return { healthz: onlyGet(healthz), readyz: onlyGet(readyz) }
})

const onlyGet =
  (answer: Effect.Effect<HttpServerResponse.HttpServerResponse>) => ({ method }: HttpServerRequest.HttpServerRequest) =>
    method === "GET" || method === "HEAD" ? answer : Effect.succeed(notHere)

const notHere = Reply.text(405, "Use GET here.", { allow: "GET, HEAD" })
