import { Effect } from "effect"
import { RunnerResources } from "#actors/cluster/Runner.ts"
import { DeliveryReports } from "#actors/operations/DeliveryReports.ts"
import { ResourceReports } from "#actors/operations/ResourceReports.ts"
import { TrafficHistory, type TrafficMinute } from "#actors/runtime/TrafficHistory.ts"
import type { LoggedAttempt, LoggedDenial } from "#domain/delivery/DeliveryLogEntry.ts"
import type { FailingHost } from "#domain/ports/ResourceCatalog.ts"
import { maskCredentials } from "#domain/UrlCredentials.ts"
import { attributes, type Html, html } from "./Html.ts"
import { type Page, page, type PageCall } from "./Page.ts"
import { ago, count, facts, foreign, link, section, shortAddress, status, table, withQuery } from "./Parts.ts"

/** Attempts that the live list begins with. */
const maxLatest = 15

/** Minutes that a table of a curve lists without the others. */
const maxTableRows = 24 * 60

const overview = page(
  "/dashboard",
  "session",
  Effect.fnUntraced(function*(call: PageCall) {
    const { caller } = call
    const isOperator = caller.rights.has("admin")
    const scope = { caller, ofAll: isOperator }
    const mayList = caller.rights.has("list")
    const hosts = mayList
      ? yield* ResourceReports.use((reports) => reports.failingHosts(scope))
      : { resources: [], callbacks: [] }
    const latest = mayList
      ? yield* DeliveryReports.use((reports) => reports.list({ ...scope, limit: maxLatest }))
      : { items: [] }
    const service = isOperator ? yield* describeService : undefined
    return {
      title: "Overview",
      lead: isOperator ? html`This runner, and the subscriptions of all accounts.` : html`Your subscriptions.`,
      tools: caller.rights.has("subscribe")
        ? html`<a class="button primary" href="/dashboard/subscriptions/new">New subscription</a>`
        : html``,
      hasCurves: isOperator,
      elements: ["live-feed", "traffic-curve"] as const,
      body: html`${service}
<div class="columns">${liveFeed(latest.items, scope.ofAll, caller.rights.has("retrieve"), call.now)}
<div>${failing("Failing resources", "Resources", hosts.resources, "/dashboard/resources", "feed.hostname", isOperator)}
${
        failing(
          "Failing callbacks",
          "Subscriptions",
          hosts.callbacks,
          "/dashboard/subscriptions",
          "endpoint.hostname",
          false
        )
      }</div></div>`
    }
  })
)

const describeService = Effect.gen(function*() {
  const { failing, healthy, late } = yield* RunnerResources.use((resources) => resources.count)
  const minutes = yield* TrafficHistory.use((history) => history.minutes)
  const hour = minutes.slice(-60)
  const lag = worst(hour.map(({ deliveryLag }) => deliveryLag))
  const lateness = worst(hour.map(({ pollLateness }) => pollLateness))
  return html`<div class="figures">${
    facts([
      ["Healthy resources", html`<a href="/dashboard/resources?all=true">${count(healthy)}</a>`],
      [
        "Failing resources",
        html`<a href="/dashboard/resources?all=true&amp;search=feed.failing%3Atrue">${count(failing)}</a>`
      ],
      ["Late by over a minute", count(late)],
      ["Delivery lag, last hour", lag === undefined ? "–" : `≤ ${seconds(lag)}`],
      ["Poll lateness, last hour", lateness === undefined ? "–" : `≤ ${seconds(lateness)}`]
    ])
  }</div>
<div class="columns">
${curve("Entries per minute", minutes, [["Entries", ({ entries }) => entries]])}
${
    curve("Deliveries per minute", minutes, [
      ["Delivered", ({ delivered }) => delivered],
      ["Failed", ({ failedDeliveries }) => failedDeliveries]
    ])
  }</div>`
})

/** The greatest of the minutes, each of which tells the bound of 95 %. */
const worst = (values: ReadonlyArray<number | undefined>): number | undefined => {
  const known = values.filter((value) => value !== undefined)
  return known.length === 0 ? undefined : Math.max(...known)
}

const seconds = (value: number): string =>
  !Number.isFinite(value) ? "an hour or more" : value < 1 ? `${Math.round(value * 1000)} ms` : `${count(value)} s`

type Series = readonly [name: string, value: (minute: TrafficMinute) => number]

/** A curve with its table. Without JavaScript, the table is all there is. */
const curve = (title: string, minutes: ReadonlyArray<TrafficMinute>, series: ReadonlyArray<Series>): Html =>
  section(
    title,
    minutes.length < 2
      ? html`<div class="empty">The curve begins two minutes after the start of the runner.</div>`
      : html`<traffic-curve>
<div class="plot" aria-hidden="true"></div>
<details><summary>Table of ${minutes.length} minutes</summary>
<div class="scroll tall" tabindex="0" role="region" aria-label="${title}, table"><table class="plain">
<caption class="unseen">${title}</caption>
<thead><tr><th scope="col">Time (UTC)</th>${
        series.map(([name]) => html`<th scope="col" class="number">${name}</th>`)
      }</tr></thead>
<tbody>${
        minutes.slice(-maxTableRows).map((minute) =>
          html`<tr><th scope="row" ${attributes({ "data-value": minute.at / 1000 })}>${
            new Date(minute.at).toISOString().slice(11, 16)
          }</th>${
            series.map(([, value]) =>
              html`<td class="number" ${attributes({ "data-value": value(minute) })}>${count(value(minute))}</td>`
            )
          }</tr>
`
        )
      }</tbody></table></div></details></traffic-curve>`
  )

const liveFeed = (
  items: ReadonlyArray<LoggedAttempt | LoggedDenial>,
  isOfAll: boolean,
  mayFollow: boolean,
  now: number
): Html => {
  const body = html`${
    items.length === 0
      ? html`<div class="empty">Nothing was delivered yet. <a href="/dashboard/subscriptions/new">Subscribe a URL</a>, and a test is sent at once.</div>`
      : undefined
  }<ol class="live" tabindex="0" aria-label="Latest deliveries">${
    items.map((item) => liveRow(item, isOfAll, now))
  }</ol>`
  return section(
    "Latest",
    mayFollow
      ? html`<live-feed ${
        attributes({ "data-src": isOfAll ? "/api/live?all=true" : "/api/live" })
      }>${body}<p class="hint"><span class="live-state" role="status">Reload the page for news</span></p></live-feed>`
      : body,
    link("/dashboard/deliveries", "All deliveries")
  )
}

const liveRow = (item: LoggedAttempt | LoggedDenial, isOfAll: boolean, now: number): Html => {
  const show = (text: string) => isOfAll ? maskCredentials(text) : text
  const isDelivered = item.outcome === "delivered"
  return html`<li>${ago(item.triedAt, now)}${
    status(
      isDelivered ? "good" : "bad",
      isDelivered ? "Delivered" : `${capitalize(item.outcome)}${item.code > 0 ? ` ${item.code}` : ""}`
    )
  }<a href="/dashboard/deliveries/${item.id}${isOfAll ? "?all=true" : ""}">${
    shortAddress(show(item.topic))
  }</a><span class="muted">${shortAddress(show(item.endpoint), "→\u00a0")}</span></li>
`
}

const capitalize = (word: string): string => word.slice(0, 1).toUpperCase() + word.slice(1)

const failing = (
  title: string,
  counted: string,
  hosts: ReadonlyArray<FailingHost>,
  path: string,
  key: string,
  isOfAll: boolean
): Html =>
  section(
    title,
    table(
      title,
      [
        {
          title: "Host",
          cell: ({ host }) =>
            link(withQuery(path, { search: `${key}:${host}`, all: isOfAll ? "true" : undefined }), foreign(host))
        },
        { title: counted, kind: "number", cell: (row) => count(row.count) }
      ],
      hosts,
      `No ${title.toLowerCase()}.`
    )
  )

export const overviewPages: ReadonlyArray<Page<RunnerResources | DeliveryReports | ResourceReports | TrafficHistory>> =
  [overview]
