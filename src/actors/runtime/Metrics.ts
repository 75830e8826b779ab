import { Metric } from "effect"

const deliveries = Metric.counter("windhover_deliveries", {
  description: "Tries to deliver a notification, by outcome"
})
const polls = Metric.counter("windhover_polls", { description: "Fetches of watched resources, by outcome" })

const counted = <K extends string>(
  counter: Metric.Metric<number, Metric.CounterState<number>>,
  outcomes: ReadonlyArray<K>
) => {
  const byOutcome = new Map(
    outcomes.map((outcome) => [outcome, Metric.update(Metric.withAttributes(counter, { outcome }), 1)])
  )
  return (outcome: K) => byOutcome.get(outcome) ?? Metric.update(counter, 1)
}

/** One try of a delivery. */
export const delivered = counted(deliveries, ["delivered", "ended", "failed"])

/** One fetch of a resource. */
export const polled = counted(polls, ["unchanged", "changed", "failed"])

/** Runs of an actor that ended in a failure or a defect. */
export const actorCrashes = Metric.counter("windhover_actor_crashes", {
  description: "Behaviours that failed or died, and were restarted"
})

/** Actors whose restarts were through. */
export const actorsRetired = Metric.counter("windhover_actors_retired", {
  description: "Actors that crashed whenever they ran, and rest until their next alarm"
})
