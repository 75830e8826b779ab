import { Effect } from "effect"
import { Inspector } from "#actors/operations/Inspector.ts"
import { type NamedResource, type ResourceReport, ResourceReports } from "#actors/operations/ResourceReports.ts"
import { stripControls } from "#domain/ControlCharacters.ts"
import type { Entry } from "#domain/feed/Entry.ts"
import { getPermalink } from "#domain/feed/Feed.ts"
import { decodeDocument } from "#domain/normalize/bytes/DecodeDocument.ts"
import type { DocumentVersion } from "#domain/poll/DocumentVersion.ts"
import type { FetchRecord } from "#domain/poll/FetchRecord.ts"
import type { StoredEntry } from "#domain/ports/EntryStore.ts"
import { badParameter } from "#domain/Refusal.ts"
import { toPlainText } from "#domain/render/PlainText.ts"
import * as Search from "#domain/Search.ts"
import { requireRight } from "#http/Authentication.ts"
import { describeDifference } from "#http/management/Difference.ts"
import { buttonForm } from "./Forms.ts"
import { attributes, type Html, html } from "./Html.ts"
import { failedSearch, searchBox } from "./ListSearch.ts"
import { type Action, action, goTo, type Page, page, type PageCall } from "./Page.ts"
import {
  address,
  ago,
  count,
  duration,
  facts,
  foreign,
  link,
  pager,
  section,
  shortAddress,
  status,
  table,
  withQuery
} from "./Parts.ts"
import { readId, readOptionalId, readText } from "./Read.ts"
import { sanitize } from "./Sanitize.ts"

const path = "/dashboard/resources"

/** Rows of a page, and entries of a resource. */
const pageSize = 50
const maxEntries = 10

/** Characters of a shown document. */
const maxShown = 256 * 1024

/** `?all=true` shows the resources of all accounts to an operator. */
const readScope = Effect.fnUntraced(function*({ caller, query }: PageCall) {
  const ofAll = readText(query, "all") === "true"
  if (ofAll) yield* requireRight(caller, "admin")
  return { caller, ofAll }
})

const readResource = Effect.fnUntraced(function*(call: PageCall) {
  const id = yield* readId(call.path["id"])
  return { ...(yield* readScope(call)), id } satisfies NamedResource
})

/** The path of a page below a resource, in the same scope. */
const pathOf = ({ id, ofAll }: NamedResource, rest = ""): string =>
  withQuery(`${path}/${id}${rest}`, { all: ofAll === true ? "true" : undefined })

const titleOf = ({ resource: { header }, url }: ResourceReport): string => {
  const title = header?.title === undefined ? "" : toPlainText(header.title).trim()
  return title === "" ? url : title.slice(0, 200)
}

/** The title, or a short form of the URL. */
const nameOf = (report: ResourceReport): Html => {
  const title = titleOf(report)
  return title === report.url ? shortAddress(title) : foreign(title)
}

const kinds = {
  unknown: "Not read yet",
  feed: "Feed",
  json: "JSON",
  "html-fragment": "Part of a page",
  "json-fragment": "Part of JSON",
  other: "Document"
}

const stateOf = ({ failures, resource, subscribers }: ResourceReport): Html => {
  if (subscribers === 0) return status("idle", "unwatched")
  if (resource.lastFetch === undefined) return status("idle", "new")
  return failures > 0
    ? status("bad", failures === 1 ? "failed once" : `failed ${failures} times`)
    : status("good", "healthy")
}

const resources = page(
  path,
  "list",
  Effect.fnUntraced(function*(call: PageCall) {
    const { caller, now, query } = call
    const scope = yield* readScope(call)
    const all = scope.ofAll ? "true" : undefined
    const search = readText(query, "search")
    const cursor = readText(query, "cursor")
    const after = yield* readOptionalId(query, "cursor")
    const parsed = search === undefined ? undefined : Search.parseLine(search, "search")
    const hint = "feed.failing:true, feed.hostname:example.org, or a part of the URL"
    if (parsed?._tag === "Failure") return failedSearch("Resources", parsed.failure, searchBox(path, search, all, hint))
    const { items, next } = yield* ResourceReports.use((reports) =>
      reports.list({
        ...scope,
        limit: pageSize,
        ...(parsed !== undefined && { search: parsed.success }),
        ...(after !== undefined && { after })
      })
    )
    return {
      title: "Resources",
      lead: html`The URLs that ${scope.ofAll ? "all accounts" : "your subscriptions"} watch. Newest first.`,
      tools: caller.rights.has("admin")
        ? scope.ofAll ? link(path, "Only mine") : link(`${path}?all=true`, "All accounts")
        : html``,
      body: html`${searchBox(path, search, all, hint)}
${
        table(
          "Resources",
          [
            {
              title: "Resource",
              cell: (report) =>
                html`<div><a href="${pathOf({ ...scope, id: report.resource.id })}">${nameOf(report)}</a>${
                  titleOf(report) === report.url ? undefined : html`<br>${shortAddress(report.url)}`
                }</div>`
            },
            { title: "State", cell: stateOf },
            { title: "Every", kind: "number", cell: ({ resource }) => duration(resource.period * 1000) },
            { title: "Next poll", kind: "number", cell: ({ resource }) => ago(resource.nextFetch, now) },
            { title: "By", cell: ({ hub }) => hub?.state === "active" ? "hub" : "poll" },
            { title: "Subscriptions", kind: "number", cell: ({ subscribers }) => count(subscribers) }
          ],
          items,
          search === undefined
            ? html`Nothing is watched yet. <a href="/dashboard/subscriptions/new">Subscribe a URL</a>.`
            : html`Nothing matches this search. <a href="${withQuery(path, { all })}">All resources</a>`
        )
      }${pager(path, { search, all }, { cursor, next: next === undefined ? undefined : String(next) })}`
    }
  })
)

const resource = page(
  `${path}/{id}`,
  "list",
  Effect.fnUntraced(function*(call: PageCall) {
    const { caller, now, viewer } = call
    const request = yield* readResource(call)
    const reports = yield* ResourceReports
    const report = yield* reports.show(request)
    const fetches = yield* reports.fetches(request)
    const versions = yield* reports.versions(request)
    const entries = caller.rights.has("retrieve") && report.resource.kind === "feed"
      ? yield* reports.entries({ ...request, count: maxEntries })
      : []
    const { hub, resource, subscribers } = report
    return {
      title: titleOf(report),
      ...(titleOf(report) !== report.url && { lead: address(report.url) }),
      tools: html`<div class="tools">${
        caller.rights.has("publish") ? buttonForm(pathOf(request, "/fetch"), viewer, "Fetch now") : undefined
      } <a class="button small quiet" href="${
        pathOf(request, "/raw")
      }">Raw document</a> <a class="button small quiet" href="${
        withQuery("/dashboard/subscriptions", { search: `feed.url:${report.url}` })
      }">Subscriptions</a></div>`,
      body: html`${
        facts([
          ["State", stateOf(report)],
          ["Kind", kinds[resource.kind]],
          ["Last fetch", ago(resource.lastFetch, now)],
          ["Next poll", ago(resource.nextFetch, now)],
          ["Every", duration(resource.period * 1000)],
          ["Pace", resource.velocity === undefined ? undefined : `${count(resource.velocity)} a day`],
          ["Subscriptions", subscribers >= 1_000 ? "1,000 or more" : count(subscribers)],
          [
            "Publisher's hub",
            hub === undefined ? "none" : html`${hub.state}${hub.isReliable ? ", pushes" : ""}<br>${address(hub.hub)}`
          ]
        ])
      }
<p class="hint">${report.periodReason}</p>
${resource.http === undefined ? undefined : html`<p class="hint">Last change: <code>${resource.http}</code></p>`}
${resource.kind === "feed" ? entrySection(request, entries, now) : undefined}
${resource.kind === "feed" ? undefined : versionSection(request, versions, now)}
${fetchSection(fetches, now)}`
    }
  })
)

const entrySection = (request: NamedResource, entries: ReadonlyArray<StoredEntry>, now: number): Html =>
  section(
    "Newest entries",
    table(
      "Newest entries",
      [
        {
          title: "Title",
          cell: ({ entry }) =>
            link(
              withQuery(`${path}/${request.id}/entry`, {
                entry: entry.id,
                all: request.ofAll === true ? "true" : undefined
              }),
              foreign(entryTitle(entry))
            )
        },
        { title: "Published", kind: "number", cell: ({ entry }) => ago(entry.published, now) },
        { title: "Found", kind: "number", cell: ({ firstSeen }) => ago(firstSeen, now) }
      ],
      entries,
      "No entry is stored yet."
    )
  )

const entryTitle = ({ id, title }: Entry): string => {
  const text = title === undefined ? "" : toPlainText(title).trim()
  return text === "" ? id : text.slice(0, 300)
}

const versionSection = (request: NamedResource, versions: ReadonlyArray<DocumentVersion>, now: number): Html =>
  section(
    "Versions",
    table(
      "Versions",
      [
        {
          title: "Version",
          cell: ({ at, id }) =>
            link(
              pathOf(request, `/versions/${id}`),
              html`${new Date(at).toISOString().slice(0, 19).replace("T", " ")} UTC`
            )
        },
        { title: "Stored", kind: "number", cell: ({ at }) => ago(at, now) },
        { title: "Bytes", kind: "number", cell: ({ bytes }) => count(bytes) }
      ],
      versions,
      "The last ten versions of texts up to 256 KiB are kept. None is stored yet."
    )
  )

const triggers = { ring: "poll", late: "late poll", ping: "ping", push: "push of the hub" }

const fetchSection = (fetches: ReadonlyArray<FetchRecord>, now: number): Html =>
  section(
    "Fetches with a change",
    html`<p class="hint">The last 32 fetches that changed the resource or its state. The ones between found nothing new.</p>${
      table(
        "Fetches with a change",
        [
          { title: "Time", cell: ({ at }) => ago(at, now) },
          {
            title: "Result",
            cell: ({ code, failures }) =>
              failures > 0 ? status("bad", code === 0 ? "no answer" : `failed ${code}`) : status("good", String(code))
          },
          { title: "By", cell: ({ trigger }) => triggers[trigger] },
          { title: "New", kind: "number", cell: ({ news }) => count(news) }
        ],
        fetches,
        "None yet."
      )
    }`
  )

const entryPage = page(
  `${path}/{id}/entry`,
  "retrieve",
  Effect.fnUntraced(function*(call: PageCall) {
    const { now, query } = call
    const request = yield* readResource(call)
    const id = readText(query, "entry") ?? ""
    const entries = yield* ResourceReports.use((reports) => reports.entries({ ...request, count: 50 }))
    const found = entries.find(({ entry }) => entry.id === id)
    if (found === undefined) {
      return yield* badParameter("entry", "This entry is not among the newest 50 of its feed.")
    }
    const { entry, firstSeen } = found
    const text = entry.content?.[0] ?? entry.summary
    const permalink = getPermalink(entry)
    return {
      title: entryTitle(entry),
      lead: html`${link(pathOf(request), "Back to the resource")}`,
      body: html`${
        facts([
          ["Published", ago(entry.published, now)],
          ["Found", ago(firstSeen, now)],
          ["Id", address(entry.id)],
          [
            "Page",
            permalink === undefined
              ? undefined
              : html`<a class="address" href="${permalink}" rel="noreferrer nofollow">${permalink}</a>`
          ]
        ])
      }<section><p class="hint">Styles, scripts and forms are removed. Images are links, so that nothing is loaded from other servers.</p>
<div class="document foreign" dir="auto">${
        text === undefined ? "The entry has no text." : yield* sanitize(text)
      }</div></section>`
    }
  })
)

const raw = page(
  `${path}/{id}/raw`,
  "retrieve",
  Effect.fnUntraced(function*(call: PageCall) {
    const request = yield* readResource(call)
    const reports = yield* ResourceReports
    const report = yield* reports.show(request)
    const document = yield* reports.document(request)
    const head = { title: "Raw document", lead: html`${link(pathOf(request), titleOf(report))}` }
    if (document !== undefined) {
      return {
        ...head,
        body: html`${facts([["Stored as", document.contentType], ["Bytes", count(document.body.byteLength)]])}${
          source(stripControls(decodeDocument(document.body.subarray(0, maxShown), document.contentType)))
        }`
      }
    }
    if (request.ofAll) yield* requireRight(call.caller, "admin")
    const seen = yield* Inspector.use((inspector) => inspector.inspect({ caller: call.caller, url: report.url }))
    return {
      ...head,
      body: html`<p class="hint">The document as its server sends it now.</p>${
        facts([
          ["Status", seen.code === 0 ? "no answer" : String(seen.code)],
          ["Content-Type", seen.contentType],
          ["Bytes", count(seen.bytes)],
          ["Final URL", address(seen.finalUrl)]
        ])
      }${seen.problem === undefined ? undefined : html`<p class="notice bad">${seen.problem}</p>`}${
        seen.body === undefined ? undefined : source(seen.body)
      }`
    }
  })
)

const source = (text: string): Html =>
  html`<pre class="wrap" tabindex="0"><code>${text.slice(0, maxShown)}</code></pre>`

const signs = { same: " ", added: "+", removed: "−", gap: "…" }

const version = page(
  `${path}/{id}/versions/{version}`,
  "retrieve",
  Effect.fnUntraced(function*(call: PageCall) {
    const { now, path: parts } = call
    const request = yield* readResource(call)
    const id = yield* readId(parts["version"], "version")
    const reports = yield* ResourceReports
    const report = yield* reports.show(request)
    const versions = yield* reports.versions(request)
    const document = yield* reports.version({ ...request, version: id })
    const at = versions.findIndex((one) => one.id === id)
    const before = versions[at + 1]
    const older = before === undefined ? undefined : yield* reports.version({ ...request, version: before.id })
    const difference = older === undefined ? undefined : describeDifference(older, document)
    return {
      title: "Version",
      lead: html`${link(pathOf(request), titleOf(report))} · ${ago(versions[at]?.at, now)}`,
      body: html`${
        section(
          "Difference from the version before",
          older === undefined
            ? html`<div class="empty">This is the oldest version that is stored.</div>`
            : difference === undefined
            ? html`<div class="empty">The two versions differ too much for a comparison of lines.</div>`
            : html`<ol class="difference" tabindex="0" aria-label="Difference">${
              difference.map(({ kind, text }) =>
                html`<li class="${kind}"><span class="sign" ${
                  kind === "added" || kind === "removed"
                    ? attributes({ "aria-label": kind, role: "img" })
                    : attributes({ "aria-hidden": "true" })
                }>${signs[kind]}</span><bdi>${text}</bdi></li>
`
              )
            }</ol>`
        )
      }${section("Text", source(stripControls(decodeDocument(document.body, document.contentType))))}`
    }
  })
)

const fetchNow = action(
  `${path}/{id}/fetch`,
  "publish",
  Effect.fnUntraced(function*(_form, call) {
    const request = yield* readResource(call)
    const { isDone, report } = yield* ResourceReports.use((reports) => reports.fetchNow(request))
    const { failures, resource } = report
    const text = !isDone
      ? "The fetch has not ended yet, because the host is busy or asked for a pause."
      : failures > 0
      ? `The fetch failed: ${resource.http ?? "no answer"}.`
      : `Fetched with status ${resource.code ?? 200}.`
    return goTo(pathOf(request), text, isDone && failures === 0 ? "good" : "bad")
  })
)

export const resourcePages: ReadonlyArray<Page<Inspector | ResourceReports>> = [
  resources,
  resource,
  entryPage,
  raw,
  version
]
export const resourceActions: ReadonlyArray<Action<ResourceReports>> = [fetchNow]
