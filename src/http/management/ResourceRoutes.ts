import { Effect, Schema } from "effect"
import { type ResourceReport, ResourceReports } from "#actors/operations/ResourceReports.ts"
import { stripControls } from "#domain/ControlCharacters.ts"
import type { Entry } from "#domain/feed/Entry.ts"
import { getPermalink } from "#domain/feed/Feed.ts"
import { decodeDocument } from "#domain/normalize/bytes/DecodeDocument.ts"
import { toPlainText } from "#domain/render/PlainText.ts"
import * as Search from "#domain/Search.ts"
import { checkOfAll } from "./CheckOfAll.ts"
import { makeCursor } from "./Cursor.ts"
import * as Field from "./Fields.ts"
import { makeRoute, type ManagementRoute } from "./ManagementRoute.ts"

const group = "Resources"

const resourceId = Field.integer(1, Number.MAX_SAFE_INTEGER, "Id of a resource, as `GET /api/resources` shows it.")

const resourceFields = {
  id: Schema.Int,
  url: Schema.String,
  host: Schema.String,
  kind: Schema.Literals(["unknown", "feed", "json", "html-fragment", "json-fragment", "other"]),
  title: Field.optional(Schema.String),
  state: Schema.Literals(["new", "healthy", "failing"]).annotate({
    description: "`new`: not fetched yet; `failing`: the last fetch failed."
  }),
  code: Field.optional(Schema.Int.annotate({ description: "HTTP status of the last fetch; 0 without an answer." })),
  http: Field.optional(Schema.String.annotate({ description: "The last fetch in words." })),
  failures: Schema.Int.annotate({ description: "Failed fetches in a row." }),
  period: Schema.Int.annotate({ description: "Seconds between two polls." }),
  periodReason: Schema.String,
  lastFetch: Field.optional(Field.time),
  nextFetch: Field.time,
  velocity: Field.optional(Schema.Finite.annotate({ description: "Updates per day." })),
  subscribers: Schema.Int.annotate({ description: "Subscriptions of yours that are live, counted up to 1,000." }),
  hub: Field.optional(Schema.Struct({
    url: Schema.String,
    state: Schema.Literals(["idle", "requested", "active", "unsubscribing"]),
    reliable: Schema.Boolean.annotate({ description: "True: the hub pushes, and polls are rare." })
  }))
}

const resourceJson = (report: ResourceReport): Schema.Schema.Type<Schema.Struct<typeof resourceFields>> => {
  const { failures, host, hub, periodReason, resource, subscribers, url } = report
  const { code, header, http, id, kind, lastFetch, nextFetch, period, velocity } = resource
  return {
    id,
    url,
    host,
    kind,
    ...(header?.title !== undefined && { title: toPlainText(header.title) }),
    state: lastFetch === undefined ? "new" : failures > 0 ? "failing" : "healthy",
    ...(code !== undefined && { code }),
    ...(http !== undefined && { http }),
    failures,
    period,
    periodReason,
    ...(lastFetch !== undefined && { lastFetch: Field.formatTime(lastFetch) }),
    nextFetch: Field.formatTime(nextFetch),
    ...(velocity !== undefined && { velocity }),
    subscribers,
    ...(hub !== undefined && { hub: { url: hub.hub, state: hub.state, reliable: hub.isReliable } })
  }
}

const resourcesCursor = makeCursor("resources", Field.integer(1, Number.MAX_SAFE_INTEGER, ""))

const resources = makeRoute({
  method: "GET",
  path: "/api/resources",
  right: "list",
  group,
  summary: "Lists the resources of your subscriptions, newest first",
  input: Schema.Struct({ search: Field.search, all: Field.ofAll, limit: Field.limit, cursor: Field.cursor }),
  output: Schema.Struct({
    resources: Schema.Array(Schema.Struct(resourceFields)),
    next: Field.optional(Field.cursorText)
  }),
  run: Effect.fnUntraced(function*({ all = false, cursor, limit = Field.defaultLimit, search }, { caller }) {
    yield* checkOfAll(caller, all)
    const after = yield* resourcesCursor.parse(cursor)
    const parsed = search === undefined ? undefined : yield* Effect.fromResult(Search.parseLine(search, "search"))
    const { items, next } = yield* ResourceReports.use((reports) =>
      reports.list({
        caller,
        ofAll: all,
        limit,
        ...(parsed !== undefined && { search: parsed }),
        ...(after !== undefined && { after })
      })
    )
    return {
      resources: items.map(resourceJson),
      ...(next !== undefined && { next: resourcesCursor.format(next) })
    }
  })
})

const named = { id: resourceId, all: Field.ofAll }

const resource = makeRoute({
  method: "GET",
  path: "/api/resources/{id}",
  right: "list",
  group,
  summary: "Shows a resource with the last fetches that changed its state, and the versions of its document",
  input: Schema.Struct(named),
  output: Schema.Struct({
    ...resourceFields,
    fetches: Schema.Array(Schema.Struct({
      time: Field.time,
      trigger: Schema.Literals(["ring", "ping", "push", "late"]),
      code: Schema.Int,
      news: Schema.Int.annotate({ description: "New and updated entries; 1 for a changed document." }),
      failures: Schema.Int
    })),
    versions: Schema.Array(Schema.Struct({
      version: Schema.Int,
      time: Field.time,
      contentType: Schema.String,
      bytes: Schema.Int
    }))
  }),
  run: Effect.fnUntraced(function*({ all = false, id }, { caller }) {
    yield* checkOfAll(caller, all)
    const request = { caller, ofAll: all, id }
    const reports = yield* ResourceReports
    const report = yield* reports.show(request)
    const fetches = yield* reports.fetches(request)
    const versions = yield* reports.versions(request)
    return {
      ...resourceJson(report),
      fetches: fetches.map(({ at, ...fetch }) => ({ time: Field.formatTime(at), ...fetch })),
      versions: versions.map(({ at, bytes, contentType, id: version }) => ({
        version,
        time: Field.formatTime(at),
        contentType,
        bytes
      }))
    }
  })
})

/** The cursor has the id of an entry, which its publisher chooses. */
const maxEntryCursorLength = 12_288

const entriesCursor = makeCursor("entries", Field.text(8_192, ""))

const entries = makeRoute({
  method: "GET",
  path: "/api/entries",
  right: "retrieve",
  group,
  summary: "Lists the stored entries of a resource, newest first, without their contents",
  input: Schema.Struct({
    resource: resourceId,
    all: Field.ofAll,
    limit: Field.limit,
    cursor: Field.cursorOf(maxEntryCursorLength)
  }),
  output: Schema.Struct({
    entries: Schema.Array(Schema.Struct({
      id: Schema.String,
      title: Field.optional(Schema.String),
      link: Field.optional(Schema.String),
      published: Field.optional(Field.time),
      firstSeen: Field.time
    })),
    next: Field.optional(Field.cursorText)
  }),
  run: Effect.fnUntraced(function*({ all = false, cursor, limit = Field.defaultLimit, resource }, { caller }) {
    yield* checkOfAll(caller, all)
    const before = yield* entriesCursor.parse(cursor)
    const count = Math.min(limit, 50)
    const page = yield* ResourceReports.use((reports) =>
      reports.entries({ caller, ofAll: all, id: resource, count, ...(before !== undefined && { before }) })
    )
    const last = page.at(-1)
    return {
      entries: page.map(({ entry, firstSeen }) => ({ ...entryJson(entry), firstSeen: Field.formatTime(firstSeen) })),
      ...(page.length === count && last !== undefined && { next: entriesCursor.format(last.entry.id) })
    }
  })
})

const entryJson = (entry: Entry) => {
  const link = getPermalink(entry)
  const { id, published, title } = entry
  return {
    id,
    ...(title !== undefined && { title: toPlainText(title) }),
    ...(link !== undefined && { link }),
    ...(published !== undefined && Math.abs(published) <= 8.64e15 && { published: Field.formatTime(published) })
  }
}

/** The comparison of texts loads with its first use, not with the service. */
const loadDifference = Effect.promise(() => import("#http/management/Difference.ts"))

const versions = makeRoute({
  method: "GET",
  path: "/api/versions",
  right: "retrieve",
  group,
  summary: "Shows a version of a page or JSON document, and its difference from another version",
  input: Schema.Struct({
    resource: resourceId,
    version: Field.integer(1, Number.MAX_SAFE_INTEGER, "`version` of a resource."),
    since: Field.optional(
      Field.integer(1, Number.MAX_SAFE_INTEGER, "An older version, from which the difference is shown.")
    ),
    all: Field.ofAll
  }),
  output: Schema.Struct({
    contentType: Schema.String,
    text: Schema.String.annotate({ description: "Without control characters." }),
    difference: Field.optional(
      Schema.Array(Schema.Struct({
        kind: Schema.Literals(["same", "added", "removed", "gap"]),
        text: Schema.String
      })).annotate({ description: "Lines of the texts; absent for texts that differ too much." })
    )
  }),
  run: Effect.fnUntraced(function*({ all = false, resource, since, version }, { caller }) {
    yield* checkOfAll(caller, all)
    const reports = yield* ResourceReports
    const request = { caller, ofAll: all, id: resource }
    const document = yield* reports.version({ ...request, version })
    const before = since === undefined ? undefined : yield* reports.version({ ...request, version: since })
    const difference = before === undefined ? undefined : (yield* loadDifference).describeDifference(before, document)
    return {
      contentType: document.contentType,
      text: stripControls(decodeDocument(document.body, document.contentType)),
      ...(difference !== undefined && { difference })
    }
  })
})

const fetchNow = makeRoute({
  method: "POST",
  path: "/api/fetch",
  right: "publish",
  group,
  summary: "Fetches a resource of yours now, and waits up to 5 s for the result",
  input: Schema.Struct({ resource: resourceId, all: Field.ofAll }),
  output: Schema.Struct({
    ...resourceFields,
    done: Schema.Boolean.annotate({
      description: "False: the fetch has not ended yet, for example because its host is busy."
    })
  }),
  run: Effect.fnUntraced(function*({ all = false, resource }, { caller }) {
    yield* checkOfAll(caller, all)
    const { isDone, report } = yield* ResourceReports.use((reports) =>
      reports.fetchNow({ caller, ofAll: all, id: resource })
    )
    return { ...resourceJson(report), done: isDone }
  })
})

export const resourceRoutes: ReadonlyArray<ManagementRoute<ResourceReports>> = [
  resources,
  resource,
  entries,
  versions,
  fetchNow
]
