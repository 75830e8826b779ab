import { Context, Effect, Metric, type Scope } from "effect"

/** Names and units follow Prometheus: base units, `_total` for counters. Labels have closed lists of values. */

const deliveryCounter = Metric.counter("windhover_deliveries_total", {
  description: "Attempts to deliver a notification, by outcome"
})
const pollCounter = Metric.counter("windhover_polls_total", { description: "Fetches of watched resources, by outcome" })

const deliveryOutcomes = ["delivered", "ended", "failed"] as const
const pollOutcomes = ["unchanged", "changed", "failed"] as const

/** One series per outcome, made once because each poll and delivery counts. */
const seriesOf = <K extends string>(
  counter: Metric.Metric<number, Metric.CounterState<number>>,
  outcomes: ReadonlyArray<K>
) => new Map(outcomes.map((outcome) => [outcome, Metric.withAttributes(counter, { outcome })]))

const countByOutcome = <K extends string>(
  counter: Metric.Metric<number, Metric.CounterState<number>>,
  series: ReadonlyMap<K, Metric.Metric<number, Metric.CounterState<number>>>
) => {
  const updates = new Map(Array.from(series, ([outcome, one]) => [outcome, Metric.update(one, 1)]))
  return (outcome: K) => updates.get(outcome) ?? Metric.update(counter, 1)
}

const deliveries = seriesOf(deliveryCounter, deliveryOutcomes)
const polls = seriesOf(pollCounter, pollOutcomes)

/** Counts one attempt of a delivery, without an effect of its own. */
export const countDelivery = (outcome: typeof deliveryOutcomes[number]): void =>
  deliveries.get(outcome)?.updateUnsafe(1, Context.empty())

/** Counts one fetch of a resource. */
export const countPoll = countByOutcome(pollCounter, polls)

const redeliveryCounter = Metric.counter("windhover_redeliveries_total", {
  description: "Notifications that a subscriber requested again, by kind: recovered (dropped before), resent, test"
})

const countRedelivery = (kind: string) => {
  const counter = Metric.withAttributes(redeliveryCounter, { kind })
  return (notifications: number) => Metric.update(counter, notifications)
}

/** Counts dropped notifications that wait again. */
export const countRecovered = countRedelivery("recovered")

/** Counts test notifications. */
export const countTest = countRedelivery("test")

/** Counts notifications that are sent once more. */
export const countResent = countRedelivery("resent")

export const actorCrashes = Metric.counter("windhover_actor_crashes_total", {
  description: "Runs of an actor that ended in a failure or defect"
})

export const actorSuspensions = Metric.counter("windhover_actor_suspensions_total", {
  description: "Actors that crashed in all their restarts and wait for their next alarm"
})

export const entries = Metric.counter("windhover_entries_total", { description: "New and updated entries stored" })

export const missedByHubs = Metric.counter("windhover_hub_missed_total", {
  description: "Entries that a poll found although the publisher's hub had to push them"
})

/** Upper bounds in seconds, from a fast answer to an hour. */
const boundaries = Metric.boundariesFromIterable([
  0.005,
  0.01,
  0.025,
  0.05,
  0.1,
  0.25,
  0.5,
  1,
  2.5,
  5,
  10,
  30,
  60,
  300,
  900,
  3600
])

export const pollLateness = Metric.histogram("windhover_poll_lateness_seconds", {
  description: "Time from the planned start of a poll to its start",
  boundaries
})

export const fetchDuration = Metric.histogram("windhover_fetch_duration_seconds", {
  description: "Time of a fetch, from its start to the end of the answer",
  boundaries
})

export const deliveryLag = Metric.histogram("windhover_delivery_lag_seconds", {
  description: "Time from the storing of a notification to its acceptance by the receiver",
  boundaries
})

export const xmppConnected = Metric.gauge("windhover_xmpp_connected", {
  description: "1 while this runner holds the connection to the XMPP server"
})

/** Counts of this runner since its start. */
export interface RunnerCounts {
  readonly entries: number
  readonly delivered: number
  readonly failedDeliveries: number
  readonly polls: number
  readonly failedPolls: number
  /** Observations up to each bound in seconds; see `boundaries`. */
  readonly deliveryLag: ReadonlyArray<readonly [bound: number, count: number]>
  readonly pollLateness: ReadonlyArray<readonly [bound: number, count: number]>
}

/** Reads the counts of this runner. */
export const readCounts: Effect.Effect<RunnerCounts> = Effect.contextWith((context: Context.Context<never>) =>
  Effect.sync(() => {
    const countOf = (metric: Metric.Metric<number, Metric.CounterState<number>> | undefined): number =>
      metric?.valueUnsafe(context).count ?? 0
    return {
      entries: countOf(entries),
      delivered: countOf(deliveries.get("delivered")),
      failedDeliveries: countOf(deliveries.get("failed")),
      polls: [...polls.values()].reduce((sum, metric) => sum + countOf(metric), 0),
      failedPolls: countOf(polls.get("failed")),
      deliveryLag: deliveryLag.valueUnsafe(Context.empty()).buckets,
      pollLateness: pollLateness.valueUnsafe(Context.empty()).buckets
    }
  })
)

/** All series that Windhover updates itself. A scrape before the first event finds zeros. */
const updated: ReadonlyArray<{ readonly valueUnsafe: (context: Context.Context<never>) => unknown }> = [
  ...deliveries.values(),
  ...polls.values(),
  actorCrashes,
  actorSuspensions,
  entries,
  missedByHubs,
  pollLateness,
  fetchDuration,
  deliveryLag,
  xmppConnected
]

/** Makes all series, each with zero. */
export const registerAll = Effect.contextWith((context: Context.Context<never>) =>
  Effect.sync(() => {
    for (const metric of updated) metric.valueUnsafe(context)
  })
)

/** Adds a value to a histogram without an effect of its own: each poll and each delivery does. */
export const observe = (metric: Metric.Histogram<number>, value: number): void =>
  metric.updateUnsafe(value, Context.empty())

/** Reports a gauge for as long as the scope lives. `read` runs at each scrape. */
export const reportGauge = (
  metric: Metric.Gauge<number>,
  read: () => number
): Effect.Effect<void, never, Scope.Scope> =>
  Effect.contextWith((context: Context.Context<never>) =>
    Effect.asVoid(Effect.acquireRelease(
      Effect.sync(() =>
        Metric.registerUnsafe(metric, context, { get: () => ({ value: read() }), update: ignore, modify: ignore })
      ),
      (registration) => Effect.sync(registration.remove)
    ))
  )

const ignore = () => {}
