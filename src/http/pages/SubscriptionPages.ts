import { Effect } from "effect"
import { listSubscriptionPage } from "#actors/operations/SubscriptionPage.ts"
import { DeliveryReports } from "#actors/operations/DeliveryReports.ts"
import { Hub, type ListedSubscription } from "#actors/operations/Hub.ts"
import { diagnose, type Diagnosis } from "#domain/delivery/Diagnosis.ts"
import type { LoggedAttempt, LoggedDenial } from "#domain/delivery/DeliveryLogEntry.ts"
import type { Caller } from "#domain/Account.ts"
import { countOf } from "#domain/Count.ts"
import { NotSubscribed, refuse } from "#domain/Refusal.ts"
import * as Search from "#domain/Search.ts"
import { shownFormat } from "#domain/Subscription.ts"
import { requireRight } from "#http/Authentication.ts"
import { attemptTable } from "./DeliveryPages.ts"
import { buttonForm, confirmForm, dangerLink, field, formTag, select, submit } from "./Forms.ts"
import { type Html, html } from "./Html.ts"
import { failedSearch, searchBox } from "./ListSearch.ts"
import { type Page, page, type PageCall } from "./Page.ts"
import { address, ago, count, facts, link, pager, section, shortAddress, status, table } from "./Parts.ts"
import { readId, readOptionalId, readText } from "./Read.ts"

export const subscriptionsPath = "/dashboard/subscriptions"

const pageSize = 50

/** Attempts on the page of a subscription. */
const maxAttempts = 20

/** A count that stops at a thousand. */
const bounded = (value: number | undefined): string =>
  value === undefined ? "–" : value >= 1_000 ? "1,000 or more" : count(value)

const subscriptions = page(
  subscriptionsPath,
  "list",
  Effect.fnUntraced(function*({ caller, now, query }: PageCall) {
    const search = readText(query, "search")
    const cursor = readText(query, "cursor")
    const after = yield* readOptionalId(query, "cursor")
    const hint = "endpoint.failing:true, deliveries.dropped:>0, or a part of the URL"
    const box = searchBox(subscriptionsPath, search, undefined, hint)
    const parsed = search === undefined ? undefined : Search.parseLine(search, "search")
    if (parsed?._tag === "Failure") return failedSearch("Subscriptions", parsed.failure, box)
    const { next, rows } = yield* listSubscriptionPage({ caller, search: parsed?.success, after, limit: pageSize })
    return {
      title: "Subscriptions",
      lead: html`Each sends the news of a URL to a callback, a JID or nowhere. Newest first.`,
      tools: caller.rights.has("subscribe")
        ? html`<a class="button primary" href="${subscriptionsPath}/new">New subscription</a>`
        : html``,
      body: html`${box}${
        table(
          "Subscriptions",
          [
            {
              title: "Resource",
              cell: ({ subscription: { endpoint, id, topic } }) =>
                html`<div><a href="${`${subscriptionsPath}/${id}`}">${shortAddress(topic)}</a><br>${
                  shortAddress(endpoint, "→\u00a0")
                }</div>`
            },
            { title: "State", cell: (item) => stateOf(diagnose(item)) },
            { title: "Last success", kind: "number", cell: ({ lastSuccessAt }) => ago(lastSuccessAt, now) },
            { title: "Sequence", kind: "number", cell: ({ lastSequence }) => count(lastSequence ?? 0) },
            { title: "Waiting", kind: "number", cell: ({ deliveries }) => bounded(deliveries?.waiting) },
            { title: "Dropped", kind: "number", cell: ({ deliveries }) => bounded(deliveries?.dropped) }
          ],
          rows,
          search === undefined
            ? html`No subscription yet. <a href="${subscriptionsPath}/new">Subscribe a URL</a>.`
            : html`Nothing matches this search. <a href="${subscriptionsPath}">All subscriptions</a>`
        )
      }${pager(subscriptionsPath, { search }, { cursor, next: next === undefined ? undefined : String(next) })}`
    }
  })
)

const stateOf = ({ state, tone }: Diagnosis): Html => status(tone, state)

/** The subscription of the caller with this id. */
export const findListed = Effect.fnUntraced(function*(caller: Caller, id: number) {
  const { items } = yield* Hub.use((hub) =>
    hub.list({ caller, page: 1, byPage: 1, after: id + 1, newestFirst: true, counted: "items", presence: true })
  )
  const [item] = items
  return item?.subscription.id === id
    ? item
    : yield* refuse(new NotSubscribed({ message: `Your account has no subscription ${id}.` }))
})

const subscription = page(
  `${subscriptionsPath}/{id}`,
  "list",
  Effect.fnUntraced(function*(call: PageCall) {
    const { caller, now } = call
    const id = yield* readId(call.path["id"])
    const item = yield* findListed(caller, id)
    const { items: attempts } = yield* DeliveryReports.use((reports) =>
      reports.list({ caller, limit: maxAttempts, subscriptionId: id })
    )
    const diagnosis = diagnose(item, attempts.find(isFailure))
    const { resource, subscription } = item
    return {
      title: `Subscription ${id}`,
      lead: html`${link(`/dashboard/resources/${resource.id}`, address(subscription.topic))} → ${
        address(subscription.endpoint)
      }`,
      body: html`<p class="diagnosis ${diagnosis.tone}">${stateOf(diagnosis)} <span>${diagnosis.sentence}</span></p>
${facts(factsOf(item, now))}
${actions(call, item)}
${
        section(
          "Attempts",
          attemptTable(attempts, now, { isOfOne: true }),
          link(`/dashboard/deliveries?subscription=${id}`, "All attempts")
        )
      }
${caller.rights.has("subscribe") && subscription.channel === "webhook" ? settings(call, item) : undefined}`
    }
  })
)

const isFailure = (event: LoggedAttempt | LoggedDenial): event is LoggedAttempt =>
  event.outcome === "failed" || event.outcome === "dropped" || event.outcome === "bounced" || event.outcome === "ended"

const channels = { webhook: "webhook", xmpp: "XMPP", null: "nothing is sent" }

const factsOf = (item: ListedSubscription, now: number): Parameters<typeof facts>[0] => {
  const { deliveries, lastSequence, lastSuccessAt, nextTryAt, presence, resource, subscription } = item
  const { channel, createdAt, failing, headers, leaseUntil, previousSecretUntil, retry, secret, state } = subscription
  return [
    ["State", state],
    ["Last sequence", count(lastSequence ?? 0)],
    ["Waiting", bounded(deliveries?.waiting)],
    ["Dropped", bounded(deliveries?.dropped)],
    ["Failing since", failing === undefined ? undefined : ago(failing.since, now)],
    ["Next try", nextTryAt === undefined ? undefined : ago(nextTryAt, now)],
    ["Last success", ago(lastSuccessAt, now)],
    ["Channel", channels[channel]],
    ["Presence", presence],
    ["Format", shownFormat(subscription, resource) ?? "the document itself"],
    ["Retries", retry === "days" ? "for 3 days" : retry === "short" ? "for 30 s" : "as the service is set"],
    ["Signed", channel !== "webhook" ? undefined : secret === undefined ? "no secret" : "with a secret"],
    [
      "Old secret signs until",
      previousSecretUntil === undefined || previousSecretUntil < now ? undefined : ago(previousSecretUntil, now)
    ],
    ["Own headers", headers === undefined ? undefined : count(headers.length)],
    ["Ends", leaseUntil === undefined ? undefined : ago(leaseUntil, now)],
    ["Created", ago(createdAt, now)]
  ]
}

/** Buttons of a subscription, as far as its channel and the rights of the session allow. */
const actions = ({ caller, viewer }: PageCall, { deliveries, subscription }: ListedSubscription): Html => {
  const { channel, id, state } = subscription
  const may = (right: "retrieve" | "subscribe" | "unsubscribe") => caller.rights.has(right)
  const button = (name: string, label: string) => buttonForm(`${subscriptionsPath}/${id}/${name}`, viewer, label)
  const isWebhook = channel === "webhook"
  return html`<div class="buttons">${isWebhook && may("subscribe") ? button("test", "Send a test") : undefined}${
    may("retrieve") && (deliveries?.dropped ?? 0) > 0 ? button("recover", "Recover dropped") : undefined
  }${isWebhook && may("retrieve") ? button("replay", "Replay the newest") : undefined}${
    isWebhook && state === "active" && may("subscribe") ? button("pause", "Pause") : undefined
  }${channel !== "null" && state === "paused" && may("subscribe") ? button("resume", "Resume") : undefined}${
    channel !== "null" && state === "active" && subscription.failing !== undefined && may("subscribe")
      ? button("resume", "Try now")
      : undefined
  }${may("unsubscribe") ? dangerLink(`${subscriptionsPath}/${id}/unsubscribe`, "Unsubscribe") : undefined}</div>`
}

const settings = ({ sent, viewer }: PageCall, { subscription }: ListedSubscription): Html => {
  const { format, id, retry, secret } = subscription
  const target = (name: string) => `${subscriptionsPath}/${id}/${name}`
  return section(
    "Change",
    html`<div class="columns"><div class="card">${
      formTag(
        target("edit"),
        viewer,
        html`<h3>Format and retries</h3>${
          select(
            "format",
            "Format",
            [
              { value: "", label: "As it is (Atom for feeds)" },
              { value: "atom", label: "Atom" },
              { value: "json", label: "JSON" }
            ],
            { value: format ?? "" },
            sent
          )
        }${
          select(
            "retry",
            "Retries of a failed delivery",
            [
              { value: "", label: "As the service is set" },
              { value: "short", label: "For 30 seconds" },
              { value: "days", label: "For 3 days" }
            ],
            { value: retry ?? "" },
            sent
          )
        }${submit("Save", { quiet: true })}`
      )
    }</div>
<div class="card">${
      formTag(
        target("rotate"),
        viewer,
        html`<h3>Secret</h3>${
          field("secret", secret === undefined ? "New secret" : "Next secret", {
            maxlength: 200,
            hint: "Empty: a random one is made, and shown once. The old one also signs for a day."
          })
        }${submit(secret === undefined ? "Set the secret" : "Rotate the secret", { quiet: true })}`
      )
    }</div>
<div class="card">${
      formTag(
        target("resend"),
        viewer,
        html`<h3>Send again</h3>${
          field("sequence", "Sequence", {
            type: "number",
            min: 1,
            required: true,
            hint: "A stored notification is sent once more, with the same sequence and id."
          })
        }${submit("Resend", { quiet: true })}`
      )
    }</div></div>`
  )
}

/** Warns before a subscription ends. */
const unsubscribe = page(
  `${subscriptionsPath}/{id}/unsubscribe`,
  "unsubscribe",
  Effect.fnUntraced(function*({ caller, path: parts, viewer }: PageCall) {
    const id = yield* readId(parts["id"])
    yield* requireRight(caller, "list")
    const { deliveries, subscription: { endpoint, topic } } = yield* findListed(caller, id)
    const open = (deliveries?.waiting ?? 0) + (deliveries?.dropped ?? 0)
    const path = `${subscriptionsPath}/${id}`
    return {
      title: `Unsubscribe ${id}`,
      lead: html`${address(topic)} → ${address(endpoint)}`,
      body: html`<p class="diagnosis warn"><span>No further news is sent. ${
        open === 0
          ? "A paused subscription sends nothing either, and can be resumed."
          : `${
            open >= 1_000 ? "1,000 or more" : countOf(open, "notification")
          } not accepted by the callback can no longer be recovered.`
      }</span></p>${
        confirmForm(`${path}/unsubscribe`, viewer, {
          label: `End subscription ${id}`,
          keep: { path, label: "Keep the subscription" }
        })
      }`
    }
  })
)

export const subscriptionPages: ReadonlyArray<Page<Hub | DeliveryReports>> = [subscriptions, subscription, unsubscribe]
