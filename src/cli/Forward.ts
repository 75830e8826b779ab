import { countOf } from "#domain/Count.ts"
import { Clock, Effect, Layer, Option, Schedule, Schema } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { toPrintableField } from "#domain/ControlCharacters.ts"
import { classifyStatus, parcel } from "#domain/delivery/Delivery.ts"
import * as WebhookSecret from "#domain/delivery/WebhookSecret.ts"
import { Deliverer, type DeliveryResponse } from "#domain/ports/Deliverer.ts"
import * as DelivererHttp from "#layers/outbound/DelivererHttp.ts"
import * as Network from "#layers/outbound/Network.ts"
import { type ForwardState, type ForwardStateFile, openForwardState } from "./ForwardState.ts"
import { print, printError, stopWhenUnread } from "./Output.ts"
import { callApi, getBaseUrl, RemoteError, type RemoteService, serviceFlags } from "./RemoteService.ts"
import { renderTime } from "./Table.ts"
import { followTopic, type TopicEvent } from "./TopicStream.ts"

/** What is forwarded, and where to. */
interface Forwarding {
  readonly service: RemoteService
  readonly topic: string
  readonly target: string
  readonly format: "atom" | "json"
  readonly secret: string | undefined
  /** Attempts after which an error status gives a notification up; undefined for no bound. */
  readonly attempts: number | undefined
}

/** Lease of the command's subscription, in seconds: as long as Windhover keeps the notifications of a stream. */
const leaseSeconds = 86_400

/** Interval of renewals. The subscription is also renewed when the stream has broken. */
const renewalInterval = "1 hour"

/** Waits between attempts: 1, 2, 4, 8, 10, 10 … s. */
const retryWaits = Schedule.min([Schedule.exponential("1 second"), Schedule.spaced("10 seconds")])

const contentTypes = { atom: "application/atom+xml", json: "application/json; charset=utf-8" }

const Gap = Schema.fromJsonString(Schema.Struct({ missed: Schema.NullOr(Schema.Int) }))

/** The headers show the open hub of the service; other settings of the service are unknown here. */
const senderOf = ({ service }: Forwarding) => ({
  baseUrl: getBaseUrl(service),
  hubOpen: true,
  extNamespace: "",
  headerPrefix: "X-Superfeedr-"
})

/** The request that a webhook gets, without the credits of an account. */
const toParcel = (forwarding: Forwarding, state: ForwardState, sequence: number, body: string, attempt: number) => {
  const { format, secret, target, topic } = forwarding
  return parcel(
    { face: "hub", endpoint: target, topic, ...(secret === undefined ? {} : { secret }) },
    { attempt, credits: 0, sequence, subscriptionId: state.subscription, notification: { id: sequence } },
    { contentType: contentTypes[format], body: Buffer.from(body) },
    senderOf(forwarding),
    0 // only a rotation of secrets depends on the time
  )
}

/** Prints an attempt: time, sequence, status, latency and the size or the next step. */
const printAttempt = Effect.fnUntraced(function*(sequence: number, result: string, rest: string) {
  const now = yield* Clock.currentTimeMillis
  yield* print([renderTime(now), `#${sequence}`, result, rest].map(toPrintableField).join("  "))
})

/** Result of an answer that ends the attempts; undefined to send again. */
const judge = ({ status }: DeliveryResponse, attempt: number, maxAttempts: number | undefined) => {
  const outcome = classifyStatus(status)
  if (outcome !== "failed") return outcome
  if (status === tooLargeStatus) return "too large"
  return attempt + 1 === maxAttempts ? "given up" : undefined
}

/** Posts one notification until the target accepts it. A target that is down or fails gets it again after short waits. */
const forwardOne = Effect.fnUntraced(function*(
  forwarding: Forwarding,
  state: ForwardState,
  sequence: number,
  body: string
) {
  const { post } = yield* Deliverer
  let attempt = 0
  const tryOnce = Effect.suspend(() => post(toParcel(forwarding, state, sequence, body, attempt))).pipe(
    Effect.matchEffect({
      onFailure: ({ message }) =>
        Effect.as(printAttempt(sequence, "no answer", message), attempt + 1 === forwarding.attempts),
      onSuccess: (answer) => {
        const judged = judge(answer, attempt, forwarding.attempts)
        const result = `${answer.status}  ${Math.round(answer.latency)} ms`
        const rest = judged === "delivered" ? countOf(Buffer.byteLength(body), "byte") : answer.excerpt
        return Effect.andThen(
          printAttempt(sequence, result, rest),
          judged === "ended" ? Effect.fail(targetGone()) : Effect.succeed(judged !== undefined)
        )
      }
    }),
    Effect.tap(() => Effect.sync(() => attempt++))
  )
  yield* Effect.repeat(tryOnce, { until: (isOver) => isOver, schedule: retryWaits })
})

const targetGone = () =>
  new RemoteError({ message: "The target answered 410 Gone, which ends the subscription of a webhook." })

/** Status of a target that takes no notification of this size. A webhook's notification would be split. */
const tooLargeStatus = 413

/** Forwards the events of a topic, and stores the position after each. */
const forwardEvents = Effect.fnUntraced(function*(
  forwarding: Forwarding,
  loaded: ForwardState,
  after: string | undefined,
  file: ForwardStateFile,
  renew: Effect.Effect<void>
) {
  const { service, topic } = forwarding
  let state = loaded
  let skipsPast = false
  const moveTo = (position: string | undefined) =>
    Effect.suspend(() => {
      if (position === undefined) return Effect.void
      state = { ...state, position }
      return file.save(state)
    })
  const handle = Effect.fnUntraced(function*({ data, event, id, isFirst }: TopicEvent) {
    if (event === "gap") {
      const missed = Option.getOrNull(Schema.decodeOption(Gap)(data))?.missed ?? null
      skipsPast = missed === null
      yield* printError(describeGap(missed))
    } else if (isFirst || skipsPast) {
      // the entries of the past, which a webhook does not get either
      skipsPast = false
      yield* printError(`Forwarding the notifications after #${id ?? "0"} of ${topic} to ${forwarding.target}.`)
    } else {
      yield* forwardOne(forwarding, state, yield* readSequence(id), data)
    }
    yield* moveTo(id)
  })
  yield* followTopic({
    service,
    topic,
    format: forwarding.format,
    pastEntries: 1,
    after,
    renew,
    onLost: printError("The connection to Windhover was lost; the command resumes after the last notification.")
  }, handle)
})

const describeGap = (missed: number | null): string =>
  missed === null
    ? "Windhover does not know the stored position; the command starts with new notifications."
    : `No longer stored, and so not forwarded: ${countOf(missed, "notification")}.`

const readSequence = (id: string | undefined) =>
  id !== undefined && /^\d{1,15}$/.test(id)
    ? Effect.succeed(Number(id))
    : Effect.fail(
      new RemoteError({ message: "The topic stands for several resources. Forward each of them by its own URL." })
    )

const isTarget = (url: string): boolean => /^https?:\/\//i.test(url) && URL.canParse(url)

/** Subscribes the null device, so that Windhover watches the topic. The lease outlives the command, so that a restart misses nothing. */
const subscribe = (forwarding: Forwarding, { device }: ForwardState) => {
  const { format, service, topic } = forwarding
  const callback = `${getBaseUrl(service)}/dev/null?forward=${device}&lease=${leaseSeconds}`
  const form = { "hub.mode": "subscribe", "hub.topic": topic, "hub.callback": callback, format }
  return {
    first: callApi(service, "POST", { ...form, retrieve: "true" }),
    renew: Effect.ignore(callApi(service, "POST", form))
  }
}

export const forward = Command.make(
  "forward",
  {
    ...serviceFlags,
    topic: Argument.String("topic").pipe(Argument.withDescription("URL of the feed or other resource")),
    target: Argument.String("target").pipe(
      Argument.withDescription("URL that gets the notifications by POST, such as http://localhost:3000/hook"),
      Argument.filter(isTarget, () => "an http(s) URL, such as http://localhost:3000/hook")
    ),
    format: Flag.Literals("format", ["atom", "json"]).pipe(
      Flag.withDescription("Format of the notifications (default: json)"),
      Flag.withDefault("json")
    ),
    secret: Flag.String("secret").pipe(Flag.withDescription("Secret that signs the notifications"), Flag.optional),
    from: Flag.Int("from").pipe(
      Flag.filter((sequence) => sequence >= 1, () => "a number from 1"),
      Flag.withDescription("First notification to forward, by its number, as long as Windhover keeps it (a day)"),
      Flag.optional
    ),
    sinceNow: Flag.Boolean("since-now").pipe(
      Flag.withDescription("Start with new notifications, instead of where the last run ended"),
      Flag.withDefault(false)
    ),
    attempts: Flag.Int("attempts").pipe(
      Flag.filter((attempts) => attempts >= 1, () => "a number from 1"),
      Flag.withDescription("Attempts after which a notification is given up (default: no bound)"),
      Flag.optional
    )
  },
  Effect.fnUntraced(
    function*({ attempts, format, from, secret, sinceNow, target, topic, ...service }) {
      if (sinceNow && Option.isSome(from)) {
        return yield* new RemoteError({ message: "--from and --since-now exclude each other; leave one of them out." })
      }
      if (Option.isSome(secret)) {
        yield* Effect.mapError(
          Effect.fromResult(WebhookSecret.check(secret.value, "--secret")),
          ({ message }) => new RemoteError({ message })
        )
      }
      const forwarding: Forwarding = {
        service,
        topic,
        target,
        format,
        secret: Option.getOrUndefined(secret),
        attempts: Option.getOrUndefined(attempts)
      }
      const file = yield* openForwardState([getBaseUrl(service), service.login, topic, target])
      const state = yield* file.load
      yield* file.save(state)
      const after = Option.match(from, {
        onNone: () => sinceNow ? undefined : state.position,
        onSome: (sequence) => String(sequence - 1)
      })
      const { first, renew } = subscribe(forwarding, state)
      yield* first
      yield* Effect.forkScoped(Effect.repeat(Effect.delay(renew, renewalInterval), Schedule.forever))
      const deliverer = Layer.provide(
        DelivererHttp.layer,
        // the target is a machine of the person who starts the command
        Network.layerWith({ allowPrivate: true, baseUrl: getBaseUrl(service) })
      )
      yield* Effect.provide(forwardEvents(forwarding, state, after, file, renew), deliverer)
    },
    stopWhenUnread,
    Effect.scoped
  )
).pipe(
  Command.withDescription(
    "Forward the notifications of a topic to a server on this machine, as a webhook gets them, and resume after a restart"
  )
)
