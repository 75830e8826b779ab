import { Clock, Effect } from "effect"
import type { PublishOptions } from "#actors/operations/Hub.ts"
import type { Refusal } from "#domain/Refusal.ts"
import * as Topic from "#domain/Topic.ts"
import { RateLimiter } from "#http/RateLimiter.ts"

/** Pings of one topic that are passed on at once, and how fast they come back. The others wait for their turn, all of them as one. */
const allowance = { burst: 10, perMinute: 12 }

/** Pings that are recorded, of all topics together: a week of them is kept, and anybody can send any number. */
const recording = { burst: 600, perMinute: 60 }

/** Topics that are remembered; those that wait, at most. Beyond it a ping is left to the next poll. */
const maxTopics = 100_000
const maxWaiting = 10_000

/**
 * Pings of nobody in particular: anybody can say that a topic has news, and so have its publisher's server asked.
 * None is lost: those that come too often are one ping a little later.
 */
export const makePings = Effect.fnUntraced(
  function*(publish: (topics: ReadonlyArray<string>, publishing: PublishOptions) => Effect.Effect<void, Refusal>) {
    const scope = yield* Effect.scope
    const allowances = new RateLimiter(allowance, { maxKeys: maxTopics, maxDebt: 0 })
    const records = new RateLimiter(recording, { maxKeys: 1, maxDebt: 0 })
    const waiting = new Set<string>()

    const pass = (topic: string, now: number) => {
      allowances.use(topic, now)
      const recorded = records.wait("", now) === 0
      if (recorded) records.use("", now)
      return publish([topic], { recorded })
    }

    const later = (topic: string, host: string, wait: number) =>
      Effect.sleep(wait).pipe(
        Effect.andThen(Clock.currentTimeMillis),
        Effect.flatMap((now) => {
          waiting.delete(topic)
          return pass(topic, now)
        }),
        Effect.catch(({ message }) =>
          Effect.logWarning(`a ping of a topic on ${host} is left to the next poll: ${message}`)
        ),
        Effect.forkIn(scope)
      )

    return Effect.fnUntraced(function*(topics: ReadonlyArray<string>) {
      const now = yield* Clock.currentTimeMillis
      for (const given of topics) {
        const topic = Topic.parse(given)
        if (topic._tag === "Failure" || waiting.has(topic.success.canonical)) continue
        const { canonical, host } = topic.success
        const wait = allowances.wait(canonical, now)
        if (wait === 0) {
          yield* pass(canonical, now)
        } else if (waiting.size < maxWaiting) {
          waiting.add(canonical)
          yield* later(canonical, host, wait)
        }
      }
    })
  }
)
