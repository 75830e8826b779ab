import { Effect } from "effect"
import { randomBytes } from "node:crypto"
import { Hub } from "#actors/operations/Hub.ts"
import { Recovery, type TestOutcome } from "#actors/operations/Recovery.ts"
import { Secrets } from "#actors/operations/Secrets.ts"
import { SubscriptionControl } from "#actors/operations/SubscriptionControl.ts"
import { describeFailure } from "#domain/delivery/FailureReason.ts"
import { generatedKeyBytes, secretOf } from "#domain/delivery/WebhookSecret.ts"
import { badParameter } from "#domain/Refusal.ts"
import type { Right } from "#domain/Account.ts"
import type { Parameters } from "#http/Parameters.ts"
import { html } from "./Html.ts"
import { type Action, action, goTo, type Outcome, type PageCall, type PageError, show } from "./Page.ts"
import { code, count, link } from "./Parts.ts"
import { readId, readText } from "./Read.ts"
import { findListed, subscriptionsPath } from "./SubscriptionPages.ts"

/** Time for which an old secret signs, in seconds. */
const graceSeconds = 24 * 3_600

/** An action of one subscription, which leads back to its page. */
const subscriptionAction = <R>(
  name: string,
  right: Right,
  run: (id: number, call: PageCall, form: Parameters) => Effect.Effect<Outcome, PageError, R>
): Action<R> =>
  action(
    `${subscriptionsPath}/{id}/${name}`,
    right,
    (form, call) => Effect.flatMap(readId(call.path["id"]), (id) => run(id, call, form))
  )

const back = (id: number, text: string, kind: "good" | "bad" = "good") => goTo(`${subscriptionsPath}/${id}`, text, kind)

/** The answer of a callback to a test, in a sentence. */
export const describeTest = ({ attempt: { answer, code, latency, message, reason } }: TestOutcome): string => {
  if (reason === undefined) {
    return `The callback accepted the test notification (${code}${latency === undefined ? "" : `, ${latency} ms`}).`
  }
  const text = answer === undefined || answer === "" ? "" : ` It said: ${answer.slice(0, 200)}`
  return `The callback did not accept the test notification. ${describeFailure({ message, reason })}${text}`
}

const test = subscriptionAction("test", "subscribe", (id, { caller }) =>
  Effect.map(
    Recovery.use((recovery) => recovery.sendTest({ caller, subscription: id })),
    (outcome) => back(id, describeTest(outcome), outcome.attempt.reason === undefined ? "good" : "bad")
  ))

const recover = subscriptionAction("recover", "retrieve", (id, { caller }) =>
  Effect.map(
    Recovery.use((recovery) => recovery.recover({ caller, subscription: id })),
    ({ lost, recovered, subscription }) =>
      back(
        id,
        `${count(recovered)} dropped ${
          recovered === 1 ? "notification waits" : "notifications wait"
        } to be sent again.${lost > 0 ? ` ${count(lost)} are no longer stored.` : ""}${
          subscription.state === "paused" ? " Resume the subscription to send them." : ""
        }`
      )
  ))

const resend = subscriptionAction(
  "resend",
  "retrieve",
  Effect.fnUntraced(function*(id, { caller }, form) {
    const sequence = yield* readId(readText(form, "sequence"), "sequence")
    const { sequences } = yield* Recovery.use((recovery) =>
      recovery.resend({ caller, subscription: id, sequences: [sequence] })
    )
    return sequences.length > 0
      ? back(id, `Notification ${sequence} waits to be sent again.`)
      : back(id, `There is no stored notification ${sequence}.`, "bad")
  })
)

const replay = subscriptionAction(
  "replay",
  "retrieve",
  Effect.fnUntraced(function*(id, { caller }) {
    const { subscription: { endpoint, topic } } = yield* findListed(caller, id)
    yield* Hub.use((hub) => hub.replay({ caller, topic, callback: endpoint, count: 1, async: false }))
    return back(id, "The callback accepted the newest content.")
  })
)

const pause = subscriptionAction("pause", "subscribe", (id, { caller }) =>
  Effect.as(
    SubscriptionControl.use((control) => control.pause({ caller, subscription: id })),
    back(id, "Paused. Notifications are kept as dropped ones, and recovered on request.")
  ))

const resume = subscriptionAction("resume", "subscribe", (id, { caller }) =>
  Effect.as(
    SubscriptionControl.use((control) => control.resume({ caller, subscription: id })),
    back(id, "Resumed. Waiting notifications are tried at once.")
  ))

const unsubscribe = subscriptionAction(
  "unsubscribe",
  "unsubscribe",
  Effect.fnUntraced(function*(id, { caller }) {
    const { subscription: { endpoint, topic } } = yield* findListed(caller, id)
    yield* Hub.use((hub) => hub.unsubscribe({ caller, topic, callback: endpoint, face: "api" }))
    return goTo(subscriptionsPath, `Subscription ${id} has ended.`)
  })
)

const rotate = subscriptionAction(
  "rotate",
  "subscribe",
  Effect.fnUntraced(function*(id, { caller }, form) {
    const given = readText(form, "secret")
    const secret = given ?? secretOf(randomBytes(generatedKeyBytes))
    yield* Secrets.use((secrets) => secrets.rotate({ caller, subscription: id, secret, graceSeconds }))
    if (given !== undefined) return back(id, "The new secret signs. The old one also signs for a day.")
    return show({
      title: "New secret",
      body: html`<p>The secret of subscription ${id} is shown once. The old one also signs for a day.</p>${code(secret)}
<p>${link(`${subscriptionsPath}/${id}`, "Back to the subscription")}</p>`
    })
  })
)

const formats = { atom: "atom", json: "json" } as const
const retries = { short: "short", days: "days" } as const

const readChoice = <A extends string>(form: Parameters, name: string, choices: { readonly [choice: string]: A }) => {
  const text = readText(form, name)
  if (text === undefined) return Effect.undefined
  const choice = Object.hasOwn(choices, text) ? choices[text] : undefined
  return choice === undefined
    ? Effect.fail(badParameter(name, `${name} can be ${Object.keys(choices).join(" or ")}.`))
    : Effect.succeed(choice)
}

/** Subscribes again with the same topic and callback, which changes the rest. A paused subscription stays paused. */
const edit = subscriptionAction(
  "edit",
  "subscribe",
  Effect.fnUntraced(function*(id, { caller }, form) {
    const { subscription: { endpoint, secret, state, topic, ...before } } = yield* findListed(caller, id)
    const format = yield* readChoice(form, "format", formats)
    const retry = yield* readChoice(form, "retry", retries)
    yield* Hub.use((hub) =>
      hub.subscribe({
        caller,
        topic,
        callback: endpoint,
        face: "api",
        retrieve: false,
        discover: false,
        ...(secret !== undefined && { secret }),
        ...(format !== undefined && { format }),
        ...(format === before.format && before.feedsOnly === true && { feedsOnly: true }),
        ...(retry !== undefined && { retry })
      })
    )
    if (state === "paused") {
      yield* SubscriptionControl.use((control) => control.pause({ caller, subscription: id }))
    }
    return back(id, "Saved.")
  })
)

export const subscriptionActions: ReadonlyArray<Action<Hub | Recovery | Secrets | SubscriptionControl>> = [
  test,
  recover,
  resend,
  replay,
  pause,
  resume,
  unsubscribe,
  rotate,
  edit
]
