import { Context, Effect, Exit, Layer, Option, Random, type Tracer } from "effect"
import { type NotificationTracer, NotificationTraces } from "#domain/ports/NotificationTraces.ts"

/** Traces whose deliveries may still come. A delivery of an older notification begins a trace of its own. */
export const maxOpenTraces = 10_000

const millisecond = 1_000_000n

interface Options {
  readonly tracer: Tracer.Tracer
  /** Share of the traces that are exported, 0 to 1. */
  readonly sampledShare: number
  /** A number from 0 up to 1. */
  readonly random: () => number
}

/**
 * Makes spans of polls and attempts after their end, so that neither of them runs within a span.
 *
 * The poll is the root of a trace, and each attempt is a child. Unsampled polls are remembered too, because all spans of a trace share one
 * decision.
 */
export const makeNotificationTracer = ({ random, sampledShare, tracer }: Options): NotificationTracer => {
  const polls = new Map<number, Tracer.Span | undefined>()
  const remember = (notification: number, span: Tracer.Span | undefined) => {
    const oldest = polls.size >= maxOpenTraces ? polls.keys().next() : undefined
    if (oldest?.done === false) polls.delete(oldest.value)
    polls.set(notification, span)
  }
  const start = (name: string, kind: Tracer.SpanKind, startedAt: number, parent: Tracer.Span | undefined) =>
    tracer.span({
      name,
      kind,
      parent: Option.fromUndefinedOr(parent),
      root: parent === undefined,
      annotations: Context.empty(),
      links: [],
      startTime: BigInt(startedAt) * millisecond,
      sampled: true
    })
  const isSampled = () => random() < sampledShare
  return {
    recordPoll: ({ endedAt, notification, resource, startedAt }) => {
      if (polls.has(notification)) return
      if (!isSampled()) return remember(notification, undefined)
      const span = start("poll", "internal", startedAt, undefined)
      span.attribute("windhover.notification", notification)
      span.attribute("windhover.resource", resource)
      span.end(BigInt(endedAt) * millisecond, Exit.void)
      remember(notification, span)
    },
    recordAttempt: ({ endedAt, isFailure, startedAt, ...attempt }) => {
      const parent = polls.get(attempt.notification)
      if (parent === undefined && (polls.has(attempt.notification) || !isSampled())) return
      const span = start("deliver", "client", startedAt, parent)
      for (const [name, value] of Object.entries(attempt)) {
        if (name === "code") {
          if (value !== undefined) span.attribute("http.response.status_code", value)
        } else span.attribute(`windhover.${name}`, value)
      }
      span.end(BigInt(endedAt) * millisecond, isFailure ? Exit.fail(attempt.outcome) : Exit.void)
    }
  }
}

/** The tracer of notifications over the tracer of the context. */
export const layer = (sampledShare: number) =>
  Layer.effect(
    NotificationTraces,
    Effect.gen(function*() {
      const random = yield* Random.Random
      const tracer = yield* Effect.tracer
      return makeNotificationTracer({ tracer, sampledShare, random: () => random.nextDoubleUnsafe() })
    })
  )
