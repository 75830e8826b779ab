import { Clock, Effect } from "effect"
import type { PublishOptions } from "#actors/operations/Hub.ts"
import type { Refusal } from "#domain/Refusal.ts"
import * as Topic from "#domain/Topic.ts"
import { type RateLimit, RateLimiter } from "#domain/limits/RateLimiter.ts"

/** Rate limit of pings for one topic. Further pings wait and merge into one. */
const topicLimit: RateLimit = { burst: 10, perMinute: 12 }

/** Rate limit of recorded pings for all topics together. The database keeps pings for a week, and anonymous clients could fill its disk. */
const recordLimit: RateLimit = { burst: 600, perMinute: 60 }

/** Maximum of topics that the limiter remembers. */
const maxTopics = 100_000

/** Maximum of topics with a waiting ping. Beyond this number, the next poll of the topic replaces the ping. */
const maxWaiting = 10_000

/**
 * Throttles anonymous pings by topic, so that a client cannot make Windhover flood a publisher's server.
 *
 * No ping is lost: pings beyond the rate become one ping later.
 */
export const makePingThrottle = Effect.fnUntraced(
  function*(publish: (topics: ReadonlyArray<string>, options: PublishOptions) => Effect.Effect<void, Refusal>) {
    const scope = yield* Effect.scope
    const topicRate = new RateLimiter(topicLimit, { maxKeys: maxTopics, maxDebtMs: 0 })
    const recordRate = new RateLimiter(recordLimit, { maxKeys: 1, maxDebtMs: 0 })
    const waiting = new Set<string>()

    const publishNow = (topic: string, now: number) => {
      topicRate.use(topic, now)
      return publish([topic], { recorded: recordRate.tryUse("", now) === 0 })
    }

    const publishLater = (topic: string, host: string, waitMs: number) =>
      Effect.sleep(waitMs).pipe(
        Effect.andThen(Clock.currentTimeMillis),
        Effect.flatMap((now) => {
          waiting.delete(topic)
          return publishNow(topic, now)
        }),
        Effect.catch(({ message }) =>
          Effect.logWarning("Ping not published; the next poll reads the topic").pipe(
            Effect.annotateLogs({ host, reason: message })
          )
        ),
        Effect.forkIn(scope)
      )

    return Effect.fnUntraced(function*(topics: ReadonlyArray<string>) {
      const now = yield* Clock.currentTimeMillis
      for (const given of topics) {
        const topic = Topic.parse(given)
        if (topic._tag === "Failure" || waiting.has(topic.success.canonical)) continue
        const { canonical, host } = topic.success
        const waitMs = topicRate.waitMs(canonical, now)
        if (waitMs === 0) {
          yield* publishNow(canonical, now)
        } else if (waiting.size < maxWaiting) {
          waiting.add(canonical)
          yield* publishLater(canonical, host, waitMs)
        }
      }
    })
  }
)
