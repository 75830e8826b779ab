import { Clock, Effect } from "effect"
import type { PublishOptions } from "#actors/operations/Hub.ts"
import { Precedence } from "#domain/ports/Precedence.ts"
import { StrangersLedger } from "#domain/ports/StrangersLedger.ts"
import { type Refusal, refuseThrottled } from "#domain/Refusal.ts"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import * as Topic from "#domain/Topic.ts"
import { type RateLimit, RateLimiter } from "#domain/limits/RateLimiter.ts"

/** Rate limit of pings for one topic. Further pings wait and merge into one. */
const topicLimit: RateLimit = { burst: 10, perMinute: 12 }

/**
 * Rate limits of recorded pings: for all topics together, and of one client network. The database keeps pings for a week, and anonymous
 * clients could fill its disk.
 */
const recordLimit: RateLimit = { burst: 600, perMinute: 60 }
const clientRecordLimit: RateLimit = { burst: 300, perMinute: 30 }

/** Maximum of topics, and of clients, that a limiter remembers. */
const maxKeys = 100_000

/** Maxima of topics with a waiting ping: of one client network, and in total. Beyond, the next poll of the topic replaces the ping. */
const maxWaiting = { maxPerKey: 2_000, maxTotal: 10_000 }

/**
 * Throttles anonymous pings by topic, site and client, so that a client cannot make Windhover flood a publisher's server.
 *
 * No ping is lost: pings beyond the rate become one ping later. A client with too many pings a minute gets 429.
 */
export const makePingThrottle = Effect.fnUntraced(
  function*(publish: (topics: ReadonlyArray<string>, options: PublishOptions) => Effect.Effect<void, Refusal>) {
    const scope = yield* Effect.scope
    const topicRate = new RateLimiter(topicLimit, { maxKeys, maxDebtMs: 0 })
    const recordRate = new RateLimiter(recordLimit, { maxKeys: 1, maxDebtMs: 0 })
    const clientRecordRate = new RateLimiter(clientRecordLimit, { maxKeys, maxDebtMs: 0 })
    const ledger = yield* StrangersLedger
    const { strangersTurn } = yield* Precedence
    const waiting = new Set<string>()
    const waitingOf = new KeyedCounter(maxWaiting)

    const publishNow = (client: string, { canonical: topic, host }: Topic.Topic, now: number) => {
      topicRate.use(topic, now)
      ledger.recordPing(client, topic, host, now)
      const isRecorded = clientRecordRate.waitMs(client, now) === 0 && recordRate.tryUse("", now) === 0
      if (isRecorded) clientRecordRate.use(client, now)
      return publish([topic], { recorded: isRecorded })
    }

    const publishLater = (client: string, topic: Topic.Topic, waitMs: number) =>
      Effect.sleep(waitMs).pipe(
        Effect.andThen(Clock.currentTimeMillis),
        Effect.flatMap((now) => {
          waiting.delete(topic.canonical)
          waitingOf.remove(client)
          return publishNow(client, topic, now)
        }),
        Effect.catch(({ message }) =>
          Effect.logWarning("Ping not published; the next poll reads the topic").pipe(
            Effect.annotateLogs({ host: topic.host, reason: message })
          )
        ),
        Effect.forkIn(scope)
      )

    /** `client` is the network of the client. */
    return Effect.fnUntraced(function*(topics: ReadonlyArray<string>, client: string) {
      const now = yield* Clock.currentTimeMillis
      const clientWaitMs = ledger.tryPings(client, topics.length, now)
      if (clientWaitMs > 0) return yield* refuseThrottled(tooManyPings, clientWaitMs / 1000)
      yield* strangersTurn
      const published: Array<Effect.Effect<void, Refusal>> = []
      for (const given of topics) {
        const parsed = Topic.parse(given)
        if (parsed._tag === "Failure") continue
        const topic = parsed.success
        const { canonical, host } = topic
        const waitMs = Math.max(topicRate.waitMs(canonical, now), ledger.pingWaitMs(client, canonical, host, now))
        if (waitMs === 0) {
          // Also while the topic waits for the allowance of another client.
          published.push(publishNow(client, topic, now))
        } else if (!waiting.has(canonical) && waitingOf.tryAdd(client)) {
          waiting.add(canonical)
          yield* publishLater(client, topic, waitMs)
        }
      }
      yield* Effect.all(published, { concurrency: "unbounded", discard: true }) // one statement for all rows
    })
  }
)

const tooManyPings =
  "Your network sends too many pings to this hub. Send the pings of several topics a few seconds apart."
