import { Metric } from "effect"

const deliveryCounter = Metric.counter("windhover_deliveries_total", {
  description: "Attempts to deliver a notification, by outcome"
})
const pollCounter = Metric.counter("windhover_polls_total", { description: "Fetches of watched resources, by outcome" })

/** One series per outcome, looked up once because each poll and delivery counts. */
const countByOutcome = <K extends string>(
  counter: Metric.Metric<number, Metric.CounterState<number>>,
  outcomes: ReadonlyArray<K>
) => {
  const byOutcome = new Map(
    outcomes.map((outcome) => [outcome, Metric.update(Metric.withAttributes(counter, { outcome }), 1)])
  )
  return (outcome: K) => byOutcome.get(outcome) ?? Metric.update(counter, 1)
}

/** Counts one attempt of a delivery. */
export const countDelivery = countByOutcome(deliveryCounter, ["delivered", "ended", "failed"])

/** Counts one fetch of a resource. */
export const countPoll = countByOutcome(pollCounter, ["unchanged", "changed", "failed"])

const redeliveryCounter = Metric.counter("windhover_redeliveries_total", {
  description: "Notifications that a subscriber requested again, by kind: recovered (dropped before), resent, test"
})

const countRedelivery = (kind: string) => {
  const counter = Metric.withAttributes(redeliveryCounter, { kind })
  return (notifications: number) => Metric.update(counter, notifications)
}

/** Counts dropped notifications that wait again. */
export const countRecovered = countRedelivery("recovered")

export const actorCrashes = Metric.counter("windhover_actor_crashes_total", {
  description: "Runs of an actor that ended in a failure or defect"
})

export const actorSuspensions = Metric.counter("windhover_actor_suspensions_total", {
  description: "Actors that crashed in all their restarts and wait for their next alarm"
})
