import { Clock, Effect } from "effect"
import type { HttpServerRequest, HttpServerResponse } from "effect/http"
import { Hub } from "#actors/Hub.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { LastUnwritten, type Unwritten } from "#domain/ports/StoreError.ts"
import * as Reply from "./Reply.ts"

/** Milliseconds that the database has to answer within. */
const deadline = 2_000

/** A refusal to write counts for so many ms; actors that wait for it try again every 5 s. */
const remembered = 15_000

const unwritten = Effect.gen(function*() {
  const { last } = yield* LastUnwritten
  const now = yield* Clock.currentTimeMillis
  return last !== undefined && Math.abs(now - last.at) < remembered ? last.why : undefined
})

const sentences: { readonly [why in Unwritten]: string } = {
  full: "The disk of the database is full; nothing can be written.",
  "read-only": "The database is read-only; nothing can be written."
}

const unable = (sentence: string) => Reply.text(503, sentence, { "retry-after": "5" })

/** Answers for those who watch over the service: no credentials, no details. */
export const makeHealth = Effect.gen(function*() {
  const accounts = yield* AccountStore
  const hub = yield* Hub

  /** Whether the service can work: its database answers, and writes what it is told to. */
  const healthz = accounts.find("healthz").pipe(
    Effect.timeout(deadline),
    Effect.andThen(unwritten),
    Effect.match({
      onSuccess: (why) => why === undefined ? Reply.text(200, "ok") : unable(sentences[why]),
      onFailure: () => unable("The database does not answer.")
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
