import { Effect } from "effect"
import { hubUrlOf } from "#domain/delivery/Delivery.ts"
import { describePing } from "#domain/poll/PingOutcome.ts"
import { type Ping, Pings } from "#domain/ports/Pings.ts"
import { badParameter, refuse, Unavailable } from "#domain/Refusal.ts"
import * as Topic from "#domain/Topic.ts"
import { ownerOf } from "#domain/limits/IpNetwork.ts"
import { rawClientAddress } from "#http/ClientAddress.ts"
import { OpenPings } from "#http/OpenPings.ts"
import { field, formTag, submit } from "./Forms.ts"
import { type Html, html } from "./Html.ts"
import { goTo, publicAction, type PublicCall, publicPage } from "./Page.ts"
import { address, ago, code, section, status, table, withQuery } from "./Parts.ts"
import { describeUrlProblem } from "./Read.ts"
import { storeCall } from "./StoreCall.ts"

/** Pings of a URL on the page. */
const maxPings = 20

const homePage = publicPage("/", (call) =>
  Effect.sync(() => {
    const { baseUrl, hubOpen } = call.settings
    return {
      title: "Pushes what is new on the web",
      lead:
        html`Windhover watches feeds, pages and JSON, and sends each new entry to webhooks, XMPP, streams and long polls. It is a WebSub hub, too.`,
      tools: html`<a class="button primary" href="/dashboard">Open the dashboard</a>`,
      body: html`${
        section(
          "Subscribe",
          html`<p class="hint">On the <a href="/dashboard/subscriptions/new">page of a new subscription</a>, or with curl. The callback gets each new entry as a POST. The first start of the service printed the operator's login and token, or wrote them to <code>first-account.txt</code>; further tokens come from the page <a href="/dashboard/tokens">Tokens</a>, and further accounts from the operator.</p>${
            code(
              `curl -u LOGIN:TOKEN ${baseUrl}/ -d hub.mode=subscribe -d hub.topic=https://blog.example/feed -d hub.callback=https://app.example/hook`
            )
          }`
        )
      }${
        section(
          "Read",
          html`<p class="hint">The stored entries, and a stream of the next ones.</p>${
            code(`curl -u LOGIN:TOKEN "${baseUrl}/?hub.mode=retrieve&hub.topic=https://blog.example/feed&format=json"`)
          }${
            code(
              `curl -Nu LOGIN:TOKEN "${baseUrl}/stream?hub.mode=retrieve&hub.topic=https://blog.example/feed" -H "Accept: text/event-stream"`
            )
          }`
        )
      }${hubOpen ? section("Publish", html`${publishHint(call)}${pingForm(call)}`) : undefined}${
        section(
          "More",
          html`<ul class="columns">
<li><a href="/dashboard">Dashboard</a><p class="hint">Subscriptions, deliveries, tokens: with a login.</p></li>
<li><a href="/docs">Documents</a><p class="hint">Webhooks, resources, events, security.</p></li>
<li><a href="/docs/reference">API reference</a><p class="hint">All requests, with examples that run here.</p></li>
<li><a href="/openapi.json">OpenAPI</a><p class="hint">The same for programs.</p></li>
</ul>`
        )
      }`
    }
  }))

const publishHint = ({ settings }: PublicCall): Html =>
  html`<p class="hint">Name this hub in your feed, and ping it after each change. The address of the hub is <code>${
    hubUrlOf(settings)
  }</code>.</p>`

const pingForm = ({ query, sent }: PublicCall): Html =>
  formTag(
    "/ping",
    undefined,
    html`${
      field("url", "URL of your feed", {
        type: "url",
        required: true,
        maxlength: Topic.maxTopicLength,
        placeholder: "https://blog.example/feed",
        value: query.all("url")[0]
      }, sent)
    }${submit("Ping us")}`,
    { class: "row", label: "Ping" }
  )

const pingPage = publicPage(
  "/ping",
  Effect.fnUntraced(function*(call) {
    const { now, query, settings } = call
    if (!settings.hubOpen) return yield* hubClosed
    const given = query.all("url")[0]
    const topic = given === undefined ? undefined : Topic.parse(given, "url")
    if (topic?._tag === "Failure" && call.sent === undefined) return yield* topic.failure
    const canonical = topic?._tag === "Success" ? topic.success.canonical : undefined
    const pings = canonical === undefined
      ? []
      : yield* storeCall(Pings.use((store) => store.listOpen(canonical, maxPings)))
    return {
      title: "Ping us",
      lead:
        html`A ping tells Windhover to read a URL now. Windhover reads a URL that has subscribers, and pushes what is new.`,
      body: html`${pingForm(call)}${
        canonical === undefined ? undefined : section(
          "Last pings",
          html`<p>${address(canonical)} · <a href="${withQuery("/ping", { url: canonical })}">Look again</a></p>${
            pingTable(pings, now)
          }`
        )
      }`
    }
  })
)

const pingTable = (pings: ReadonlyArray<Ping>, now: number): Html =>
  table(
    "Last pings",
    [
      { title: "Received", cell: ({ receivedAt }) => ago(receivedAt, now) },
      { title: "Result", cell: pingStatus }
    ],
    pings,
    html`No ping of this URL within a week. Check its spelling: http or https, and the path, have to be as in the ping.`
  )

const pingStatus = ({ outcome }: Ping): Html => {
  if (outcome === undefined) return status("idle", "waits for its turn")
  switch (outcome._tag) {
    case "Failed":
      return html`${
        status("bad", `Failed${outcome.code > 0 ? ` with ${outcome.code}` : ""}`)
      }<p class="hint"><bdi>${outcome.message}</bdi></p>`
    case "NoSubscriber":
      return html`${status("idle", "not read")}<p class="hint">The URL has no subscriber here.</p>`
    default:
      return status(outcome._tag === "Changed" ? "good" : "idle", describePing(outcome))
  }
}

const hubClosed = refuse(
  new Unavailable({
    message: "The open hub is off here. Accounts ping with hub.mode=publish and their credentials.",
    retryAfter: 3600
  })
)

const ping = publicAction(
  "/ping",
  Effect.fnUntraced(function*(form, { request, settings }) {
    if (!settings.hubOpen) return yield* hubClosed
    const url = (form.all("url")[0] ?? "").trim()
    if (url === "") return yield* badParameter("url", "Please enter the URL of your feed.")
    const topic = Topic.parse(url, "url")
    if (topic._tag === "Failure") return yield* badParameter("url", describeUrlProblem(topic.failure.message))
    const { canonical } = topic.success
    yield* OpenPings.use(({ publish }) => publish([canonical], ownerOf(rawClientAddress(request))))
    return goTo(withQuery("/ping", { url: canonical }))
  })
)

export const homePages = [homePage, pingPage]
export const homeActions = [ping]
