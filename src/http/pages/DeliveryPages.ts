import { Effect } from "effect"
import { DeliveryReports, type SentRequest } from "#actors/operations/DeliveryReports.ts"
import {
  type DeliveryOutcome,
  type LoggedAttempt,
  type LoggedDenial,
  outcomes
} from "#domain/delivery/DeliveryLogEntry.ts"
import { describeFailure } from "#domain/delivery/FailureReason.ts"
import { decodeDocument } from "#domain/normalize/bytes/DecodeDocument.ts"
import { badParameter } from "#domain/Refusal.ts"
import { requireRight } from "#http/Authentication.ts"
import { field, searchForm, select, submit } from "./Forms.ts"
import { type Html, html } from "./Html.ts"
import { type Page, page, type PageCall } from "./Page.ts"
import {
  address,
  ago,
  count,
  facts,
  foreign,
  link,
  pager,
  section,
  shortAddress,
  status,
  table,
  type Tone
} from "./Parts.ts"
import { readOptionalId, readText } from "./Read.ts"

const path = "/dashboard/deliveries"

const pageSize = 50

/** Characters of a shown body. */
const maxBody = 256 * 1024

const tones: { readonly [outcome in DeliveryOutcome]: Tone } = {
  delivered: "good",
  failed: "warn",
  dropped: "bad",
  bounced: "bad",
  ended: "bad",
  denied: "bad"
}

const deliveries = page(
  path,
  "list",
  Effect.fnUntraced(function*({ caller, now, query }: PageCall) {
    const ofAll = readText(query, "all") === "true"
    if (ofAll) yield* requireRight(caller, "admin")
    const host = readText(query, "host")?.trim().toLowerCase()
    const outcome = readText(query, "outcome")
    const known = outcomes.find((one) => one === outcome)
    if (outcome !== undefined && known === undefined) {
      return yield* badParameter("outcome", `outcome can be ${outcomes.join(", ")}.`)
    }
    const subscriptionId = yield* readOptionalId(query, "subscription")
    const cursor = readText(query, "cursor")
    const { items, next } = yield* DeliveryReports.use((reports) =>
      reports.list({
        caller,
        ofAll,
        limit: pageSize,
        ...(host !== undefined && { host }),
        ...(known !== undefined && { outcome: known }),
        ...(subscriptionId !== undefined && { subscriptionId }),
        ...(cursor !== undefined && { after: cursor })
      })
    )
    const filters = {
      host,
      outcome,
      subscription: subscriptionId === undefined ? undefined : String(subscriptionId),
      all: ofAll ? "true" : undefined
    }
    return {
      title: "Deliveries",
      lead: html`The last attempts of each subscription: 64 failures and 16 successes. Newest first.`,
      tools: caller.rights.has("admin")
        ? ofAll ? link(path, "Only mine") : link(`${path}?all=true`, "All accounts")
        : html``,
      body: html`${
        searchForm(
          path,
          "Filter",
          html`${field("host", "Host of the callback", { value: host, maxlength: 253 })}${
            select(
              "outcome",
              "Outcome",
              [{ value: "", label: "any" }, ...outcomes.map((value) => ({ value, label: value }))],
              { value: outcome ?? "" }
            )
          }${field("subscription", "Subscription", { type: "number", min: 1, value: subscriptionId })}${
            ofAll ? html`<input type="hidden" name="all" value="true">` : undefined
          }${submit("Filter", { quiet: true })}`
        )
      }${attemptTable(items, now, { ofAll, isFiltered: Object.values(filters).some((value) => value !== undefined) })}${
        pager(path, filters, { cursor, next })
      }`
    }
  })
)

/** The attempts of deliveries, each with a link to its request and answer. `isOfOne` subscription: its page names topic and callback. */
export const attemptTable = (
  items: ReadonlyArray<LoggedAttempt | LoggedDenial>,
  now: number,
  { isFiltered = false, isOfOne = false, ofAll = false }: {
    readonly isFiltered?: boolean
    readonly isOfOne?: boolean
    readonly ofAll?: boolean
  }
): Html =>
  table(
    "Attempts",
    [
      {
        title: "Time",
        cell: ({ id, triedAt }) =>
          html`<a href="/dashboard/deliveries/${id}${ofAll ? "?all=true" : ""}">${ago(triedAt, now)}</a>`
      },
      {
        title: "Outcome",
        cell: ({ code, outcome }) => status(tones[outcome], code > 0 ? `${outcome} ${code}` : outcome)
      },
      isOfOne
        ? { title: "Answer", cell: ({ message }) => foreign(message) }
        : {
          title: "Delivery",
          cell: ({ endpoint, message, topic }) =>
            html`<div>${shortAddress(topic)} <span class="muted">→</span> ${shortAddress(endpoint)}${
              message === "" ? undefined : html`<p class="muted">${foreign(message)}</p>`
            }</div>`
        },
      { title: "Sequence", kind: "number", cell: (event) => event.outcome === "denied" ? "–" : count(event.sequence) },
      {
        title: "Time taken",
        kind: "number",
        cell: ({ latency }) => latency === undefined ? "–" : `${count(latency)} ms`
      }
    ],
    items,
    isOfOne
      ? "No attempt yet. A test shows at once what the callback answers."
      : html`No attempt is logged${
        isFiltered
          ? html` for this filter. <a href="${path}">All deliveries</a>`
          : html`. <a href="/dashboard/subscriptions/new">Subscribe a URL</a>`
      }`
  )

const delivery = page(
  `${path}/{id}`,
  "list",
  Effect.fnUntraced(function*(call: PageCall) {
    const { caller, now, query } = call
    const ofAll = readText(query, "all") === "true"
    if (ofAll) yield* requireRight(caller, "admin")
    const id = call.path["id"] ?? ""
    const { event, request } = yield* DeliveryReports.use((reports) => reports.show({ caller, ofAll, id }))
    const { answer, bytes, code, endpoint, latency, message, outcome, reason, topic, triedAt } = event
    return {
      title: "Attempt",
      lead: html`${address(topic)} → ${address(endpoint)}`,
      body: html`<p class="diagnosis ${tones[outcome]}">${status(tones[outcome], outcome)} <span>${
        describeFailure({ message, reason })
      }</span></p>
${
        facts([
          ["Time", ago(triedAt, now)],
          ["Status", code > 0 ? String(code) : "no answer"],
          ["Time taken", latency === undefined ? undefined : `${count(latency)} ms`],
          ["Bytes sent", bytes === undefined ? undefined : count(bytes)],
          [
            "Subscription",
            event.outcome === "denied"
              ? undefined
              : link(`/dashboard/subscriptions/${event.subscriptionId}`, event.subscriptionId)
          ],
          ["Sequence", event.outcome === "denied" ? undefined : count(event.sequence)],
          ["Attempt", event.outcome === "denied" || event.attempt === 0 ? undefined : count(event.attempt)],
          ["Notification", event.outcome === "denied" ? undefined : event.notificationId],
          event.outcome === "denied" || event.nextTry === undefined
            ? ["Next try", undefined]
            : [event.nextTry > now ? "Next try" : "Next try was due", ago(event.nextTry, now)]
        ])
      }
${
        section(
          "Answer",
          answer === undefined || answer === ""
            ? html`<div class="empty">The log keeps the beginning of bad answers only, and there was none.</div>`
            : html`<pre class="wrap" tabindex="0"><code>${answer}</code></pre>`
        )
      }
${
        request === undefined
          ? section("Request", html`<div class="empty">The notification is no longer stored.</div>`)
          : requestSection(request)
      }`
    }
  })
)

const requestSection = ({ body, headers }: SentRequest): Html => {
  const text = body.subarray(0, maxBody)
  return section(
    "Request",
    html`<table class="plain headers"><caption class="unseen">Headers</caption><tbody>${
      headers.map(([name, value]) => html`<tr><th scope="row">${name}</th><td>${address(value)}</td></tr>`)
    }</tbody></table><pre class="wrap" tabindex="0"><code>${
      text.includes(0)
        ? `${count(body.byteLength)} bytes that are no text`
        : decodeDocument(text, "text/plain; charset=utf-8")
    }</code></pre>`
  )
}

export const deliveryPages: ReadonlyArray<Page<DeliveryReports>> = [deliveries, delivery]
