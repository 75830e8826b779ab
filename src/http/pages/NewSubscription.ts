import { Effect, Result } from "effect"
import { Hub } from "#actors/operations/Hub.ts"
import { type AdvertisedFeed, type EntryGlimpse, type Inspection, Inspector } from "#actors/operations/Inspector.ts"
import { Recovery } from "#actors/operations/Recovery.ts"
import type { Caller } from "#domain/Account.ts"
import * as Jid from "#domain/Jid.ts"
import { nullDevice } from "#domain/OwnAddress.ts"
import { fragmentOf, withoutFragment } from "#domain/poll/Fragment.ts"
import type { Outline } from "#domain/ports/Selector.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { maxCallbackLength, type Subscription } from "#domain/Subscription.ts"
import { maxTopicLength } from "#domain/Topic.ts"
import { field, formTag, hidden, searchForm, select, submit } from "./Forms.ts"
import { attributes, type Html, html } from "./Html.ts"
import { type Action, action, goTo, type Page, page, type PageCall } from "./Page.ts"
import { address, ago, count, facts, foreign, section, table, withQuery } from "./Parts.ts"
import { describeUrlProblem, readText } from "./Read.ts"
import { describeTest } from "./SubscriptionActions.ts"
import { subscriptionsPath } from "./SubscriptionPages.ts"

const path = `${subscriptionsPath}/new`

/** A URL as people write it: without a scheme, it is one of HTTPS. */
const completeUrl = (text: string): string => {
  const trimmed = text.trim()
  return /^[a-z][a-z0-9+.-]*:/i.test(trimmed) && !/^[\w.-]+:\d+(?:[/?#]|$)/.test(trimmed)
    ? trimmed
    : `https://${trimmed}`
}

/** The topic of a page's part. */
const topicOf = (url: string, selector: string | undefined): string =>
  selector === undefined ? url : `${withoutFragment(url)}#${encodeURIComponent(selector)}`

const newSubscription = page(
  path,
  "subscribe",
  Effect.fnUntraced(function*(call: PageCall) {
    const { caller, query, sent } = call
    const source = sent ?? query
    const given = readText(source, "url") ?? readText(source, "topic")
    const url = given === undefined ? undefined : completeUrl(given)
    const selector = readText(source, "path") ?? (url === undefined ? undefined : fragmentOf(url)?.path)
    const looked = url === undefined ? undefined : yield* Effect.result(
      Inspector.use((inspector) =>
        inspector.inspect({ caller, url, ...(selector !== undefined && { path: selector }) })
      )
    )
    return {
      title: "New subscription",
      lead: html`Paste the address of a feed, a page or a JSON document.`,
      elements: ["selector-tester"] as const,
      body: html`${
        searchForm(
          path,
          "Look at a URL",
          html`${
            field("url", "URL", {
              value: url === undefined ? "" : withoutFragment(url),
              required: true,
              maxlength: maxTopicLength,
              placeholder: "https://example.org/",
              autofocus: url === undefined
            })
          }${submit(url === undefined ? "Look at it" : "Look again", { quiet: url !== undefined })}`
        )
      }${
        looked === undefined
          ? undefined
          : Result.isFailure(looked)
          ? problem(looked.failure)
          : describe(call, looked.success, selector)
      }`
    }
  })
)

const problem = ({ message }: Refusal): Html =>
  html`<p class="notice bad" role="alert">${describeUrlProblem(message)}</p>`

const describe = (call: PageCall, seen: Inspection, selector: string | undefined): Html => {
  const { feeds = [], kind } = seen
  const isPage = kind === "html" || kind === "json" || kind === "xml"
  return html`${
    seen.problem === undefined
      ? undefined
      : html`<p class="notice bad" role="alert">${seen.problem} You can subscribe all the same: Windhover goes on trying.</p>`
  }${kind === "html" && selector === undefined && feeds.length > 0 ? feedSection(feeds, call.now) : undefined}
${kind === "feed" ? feedFacts(seen, call.now) : undefined}
${isPage ? tester(seen, selector) : undefined}
${destination(call, seen, selector)}`
}

const kinds: { readonly [kind in Inspection["kind"]]: string } = {
  feed: "feed",
  html: "page",
  json: "JSON document",
  xml: "XML document",
  other: "document",
  empty: "document",
  unreachable: "document"
}

const glimpse = (newest: EntryGlimpse | undefined, now: number): Html =>
  newest === undefined ?
    html`<span class="muted">no entry</span>` :
    html`${foreign(newest.title)} <span class="muted">${
      newest.published === undefined ? undefined : ago(newest.published, now)
    }</span>`

const feedSection = (feeds: ReadonlyArray<AdvertisedFeed>, now: number): Html =>
  section(
    feeds.length === 1 ? "The page names a feed" : `The page names ${feeds.length} feeds`,
    html`<p class="hint">A feed tells what is new. It is nearly always better than its page.</p>${
      table(
        "Feeds",
        [
          {
            title: "Feed",
            cell: ({ title, url }) =>
              html`<div>${title === undefined || title === "" ? undefined : html`${foreign(title)}<br>`}${
                address(url)
              }</div>`
          },
          {
            title: "Newest entry",
            cell: ({ newest, problem }) =>
              problem === undefined
                ? html`<div>${glimpse(newest, now)}</div>`
                : html`<span class="muted">${problem}</span>`
          },
          { title: "Entries", kind: "number", cell: ({ entries }) => entries === undefined ? "–" : count(entries) },
          {
            title: "Choose",
            kind: "actions",
            cell: ({ title, url }) =>
              html`<a class="button small primary" href="${withQuery(path, { url })}">Choose<span class="unseen"> ${
                title ?? url
              }</span></a>`
          }
        ],
        feeds,
        "None."
      )
    }`
  )

const feedFacts = (seen: Inspection, now: number): Html =>
  section(
    seen.title === undefined || seen.title === "" ? "Feed" : seen.title,
    facts([
      ["Entries", count(seen.entries ?? 0)],
      ["Newest entry", glimpse(seen.newest, now)],
      ["Address", address(seen.finalUrl)]
    ])
  )

/** The text tree of a page, and the part that a path selects. Each place is a link that selects it. */
const tester = (seen: Inspection, selector: string | undefined): Html => {
  const { outline, pathProblem, selected, url } = seen
  const matches = pathProblem ?? (selected === undefined
    ? "No path: the whole document is watched."
    : selected.matches === 0
    ? "The path selects nothing."
    : `The path selects ${count(selected.matches)} ${selected.matches === 1 ? "place" : "places"}.`)
  return section(
    "Part of the document",
    html`<selector-tester ${attributes({ "data-url": url })}>${
      searchForm(
        path,
        "Try a path",
        html`<input type="hidden" name="url" value="${url}">${
          field("path", seen.kind === "json" ? "JSONPath" : "CSS path", {
            value: selector ?? "",
            maxlength: 1_000,
            placeholder: seen.kind === "json" ? "$.items[0].title" : "#main .price",
            hint: "Choose a place below, or write a path. Without one, each change of any byte is sent."
          })
        }${submit("Try", { quiet: true })}`
      )
    }<p class="matches" role="status">${matches}</p>
<div class="columns"><div>${outline === undefined ? undefined : outlineList(outline, url)}</div>
<div class="pushed"><h3>What would be sent</h3><pre class="wrap" tabindex="0"><code>${
      pathProblem !== undefined
        ? "Nothing: the path is wrong."
        : selected === undefined
        ? "The whole document."
        : `${selected.text}${selected.isCut ? "\n…" : ""}`
    }</code></pre></div></div></selector-tester>`
  )
}

/** Levels of indentation that a screen has room for. */
const maxIndent = 4

const outlineList = ({ isCut, lines }: Outline, url: string): Html => {
  const least = lines.reduce((depth, line) => Math.min(depth, line.depth), Infinity)
  return html`<h3>Places</h3><ol class="outline" tabindex="0" aria-label="Places of the document">${
    lines.map(({ depth, isSelected, label, path: place, text }) =>
      html`<li class="${`depth-${Math.min(depth - least, maxIndent)}${isSelected ? " chosen" : ""}`}">${
        place === ""
          ? html`<code>${label}</code>`
          : html`<a ${
            attributes({ "data-path": place, href: withQuery(path, { url, path: place }) })
          }><code>${label}</code></a>`
      } <bdi>${text}</bdi></li>
`
    )
  }</ol>${isCut ? html`<p class="hint">The document has more places.</p>` : undefined}`
}

const destination = (
  { caller, sent, settings, viewer }: PageCall,
  seen: Inspection,
  selector: string | undefined
): Html => {
  const jid = jidOf(caller, settings)
  const channel = (sent === undefined ? undefined : readText(sent, "channel")) ?? "webhook"
  const radio = (value: string, label: string, hint: string) =>
    html`<label class="choice"><input type="radio" ${
      attributes({ name: "channel", value, checked: channel === value })
    }> <span>${label}<br><span class="hint">${hint}</span></span></label>`
  return section(
    "Where to",
    html`<div class="card">${
      formTag(
        path,
        viewer,
        html`${hidden("url", seen.url)}<input type="hidden" name="path" data-chosen-path value="${selector ?? ""}">
<p>News of this ${selector === undefined ? kinds[seen.kind] : "part"}: ${address(seen.url)}</p>
<fieldset><legend>Send them</legend>${
          radio("webhook", "to a webhook", "An HTTP POST to your URL, signed if you set a secret.")
        }${
          jid === undefined
            ? undefined
            : radio("xmpp", `by XMPP to ${jid.bare}`, "A message to the JID of your account.")
        }${
          radio(
            "null",
            "nowhere: just follow",
            "Read the entries on the page of the resource, by stream, or with retrieve."
          )
        }</fieldset>
${
          field("callback", "Callback of the webhook", {
            type: "url",
            maxlength: maxCallbackLength,
            placeholder: "https://example.net/hook",
            hint: "A test notification is sent at once, and its answer is shown."
          }, sent)
        }${
          select(
            "format",
            "Format",
            [{ value: "json", label: "JSON" }, { value: "atom", label: "Atom" }, {
              value: "",
              label: "As it is (Atom for feeds)"
            }],
            { value: seen.kind === "feed" ? "json" : "" },
            sent
          )
        }${
          field(
            "secret",
            "Secret",
            { maxlength: 200, hint: "Signs each notification (X-Hub-Signature). Optional." },
            sent
          )
        }${submit("Subscribe")}`
      )
    }</div>`
  )
}

/** The JID of an account; undefined without an XMPP server. */
const jidOf = ({ account: { jid, login } }: Caller, { xmppComponent, xmppDomain }: SettingsValues) => {
  if (xmppComponent === undefined) return undefined
  const bare = jid ?? (xmppDomain === undefined ? undefined : `${login}@${xmppDomain}`)
  return bare === undefined || !bare.includes("@")
    ? undefined
    : { bare, domain: Jid.domainOf(bare.slice(bare.indexOf("@") + 1)) }
}

const subscribe = action(
  path,
  "subscribe",
  Effect.fnUntraced(function*(form, { caller, settings }: PageCall) {
    const url = readText(form, "url")
    if (url === undefined) return yield* badParameter("url", "Please enter a URL.")
    const topic = topicOf(completeUrl(url), readText(form, "path"))
    const format = readText(form, "format")
    const wanted = format === "json" || format === "atom" ? { format } as const : {}
    const hub = yield* Hub
    const channel = readText(form, "channel") ?? "webhook"
    if (channel === "xmpp") {
      const jid = jidOf(caller, settings)
      if (jid === undefined) return yield* badParameter("channel", "Your account has no JID, or XMPP is off.")
      yield* hub.subscribeJid({ caller, jid, resources: [{ topic, ...wanted }] })
      const made = { topic, endpoint: jid.bare }
      return yield* openSubscription(hub, caller, made, "Subscribed. Entries come as messages.")
    }
    const callback = channel === "null" ? nullDevice(settings.baseUrl) : readText(form, "callback")?.trim()
    if (callback === undefined) {
      return yield* badParameter("callback", "Please enter the URL of your webhook, or just follow.")
    }
    const secret = readText(form, "secret")
    yield* hub.subscribe({
      caller,
      topic,
      callback,
      face: "api",
      discover: false,
      retrieve: true,
      ...wanted,
      ...(secret !== undefined && { secret })
    })
    const made = { topic, endpoint: callback }
    if (channel === "null") return yield* openSubscription(hub, caller, made, "Followed.")
    return yield* sendTest(hub, caller, made)
  })
)

type Made = Pick<Subscription, "topic" | "endpoint">

/** The newest subscription of the account, if it is the one of this form. A subscription that existed before is an older one. */
const findNewest = (hub: Hub["Service"], caller: Caller, { endpoint, topic }: Made) =>
  Effect.map(
    hub.list({ caller, page: 1, byPage: 1, newestFirst: true }),
    ({ items: [item] }) =>
      item?.subscription.topic === topic && item.subscription.endpoint === endpoint ? item.subscription : undefined
  )

const openSubscription = (hub: Hub["Service"], caller: Caller, made: Made, text: string) =>
  Effect.map(
    findNewest(hub, caller, made),
    (subscription) =>
      goTo(subscription === undefined ? subscriptionsPath : `${subscriptionsPath}/${subscription.id}`, text)
  )

/** Ends with a test notification, whose failure leaves the subscription. */
const sendTest = Effect.fnUntraced(function*(hub: Hub["Service"], caller: Caller, made: Made) {
  const subscription = yield* findNewest(hub, caller, made)
  if (subscription === undefined) return goTo(subscriptionsPath, "Subscribed, without a test: see the list.")
  const tested = yield* Effect.result(
    Recovery.use((recovery) => recovery.sendTest({ caller, subscription: subscription.id }))
  )
  const target = `${subscriptionsPath}/${subscription.id}`
  return Result.isFailure(tested)
    ? goTo(target, `Subscribed. The test was not sent: ${tested.failure.message}`, "bad")
    : goTo(
      target,
      `Subscribed. ${describeTest(tested.success)}`,
      tested.success.attempt.reason === undefined ? "good" : "bad"
    )
})

export const newSubscriptionPages: ReadonlyArray<Page<Inspector>> = [newSubscription]
export const newSubscriptionActions: ReadonlyArray<Action<Hub | Recovery>> = [subscribe]
