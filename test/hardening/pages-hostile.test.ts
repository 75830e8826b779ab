import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { DeliveryReports } from "#actors/operations/DeliveryReports.ts"
import { Inspector } from "#actors/operations/Inspector.ts"
import { ResourceReports } from "#actors/operations/ResourceReports.ts"
import { RunnerResources } from "#actors/cluster/Runner.ts"
import { TrafficHistory } from "#actors/runtime/TrafficHistory.ts"
import type { LoggedAttempt } from "#domain/delivery/DeliveryLogEntry.ts"
import { management } from "#test/support/Api.ts"
import { available, browser, openTab } from "#test/support/Browser.ts"
import { serveDashboard } from "#test/support/Dashboard.ts"

/** Markup, a terminal's controls, and characters that turn the direction of text. */
const evil =
  `"><img src=x onerror=alert(1)><script>alert(1)</script>'\u001b[2J\u202e\u2066 javascript:alert(1) </textarea></pre>`

const text = { value: evil, type: "text" }

const resource = {
  id: 1,
  kind: "feed" as const,
  header: { title: text },
  http: evil,
  nextFetch: 2_000,
  lastFetch: 1_000,
  period: 60,
  code: 200,
  generatedIds: false,
  entriesSinceMaintenance: 0
}
const report = {
  resource,
  url: `https://a.example/${evil}`,
  host: evil,
  partition: 0,
  failures: 0,
  inError: false,
  subscribers: 1,
  hub: { hub: evil, state: "active" as const, isReliable: true },
  periodReason: "because"
}
const attempt: LoggedAttempt = {
  id: "7-1-1",
  outcome: "failed",
  subscriptionId: 7,
  topic: evil,
  endpoint: evil,
  triedAt: 1_000,
  sequence: 1,
  attempt: 1,
  code: 500,
  reason: "server-error",
  message: evil,
  answer: `<html>${evil}</html>`,
  notificationId: evil
}
const entry = {
  id: evil,
  title: { value: evil, type: "html" },
  content: [{ value: evil, type: "html" }],
  links: [{ href: "javascript:alert(1)", rel: "alternate" }]
}
const body = new TextEncoder().encode(evil)

const services = Layer.mergeAll(
  management,
  Layer.mock(RunnerResources, { count: Effect.succeed({ partitions: 1, healthy: 1, failing: 0, late: 0 }) }),
  Layer.mock(TrafficHistory, { minutes: Effect.succeed([]) }),
  Layer.mock(DeliveryReports, {
    list: () => Effect.succeed({ items: [attempt] }),
    show: () => Effect.succeed({ event: attempt, request: { headers: [[evil, evil]] as const, body } })
  }),
  Layer.mock(ResourceReports, {
    list: () => Effect.succeed({ items: [report] }),
    show: () => Effect.succeed(report),
    fetches: () => Effect.succeed([]),
    versions: () =>
      Effect.succeed([{ id: 2, at: 1_000, contentType: "text/html", bytes: 1 }, {
        id: 1,
        at: 500,
        contentType: "text/html",
        bytes: 1
      }]),
    version: ({ version }) =>
      Effect.succeed({ contentType: "text/html", body: version === 2 ? body : new Uint8Array() }),
    entries: () => Effect.succeed([{ resourceId: 1, entry, firstSeen: 1_000 }]),
    document: () => Effect.succeed({ contentType: evil, body }),
    failingHosts: () => Effect.succeed({ resources: [{ host: evil, count: 1 }], callbacks: [{ host: evil, count: 1 }] })
  }),
  Layer.mock(Inspector, {
    inspect: () =>
      Effect.succeed({
        url: `https://a.example/?${evil}`,
        finalUrl: evil,
        code: 200,
        bytes: 1,
        kind: "html" as const,
        problem: evil,
        feeds: [{ url: `https://a.example/${evil}`, title: evil, newest: { title: evil, link: evil }, problem: evil }],
        outline: { lines: [{ depth: 0, label: evil, text: evil, path: evil, isSelected: true }], isCut: false },
        selected: { matches: 1, contentType: evil, text: evil, isCut: false },
        pathProblem: evil
      })
  })
)

const paths = [
  "/dashboard",
  "/dashboard/resources",
  "/dashboard/resources/1",
  `/dashboard/resources/1/entry?entry=${encodeURIComponent(evil)}`,
  "/dashboard/resources/1/raw",
  "/dashboard/resources/1/versions/2",
  "/dashboard/subscriptions",
  "/dashboard/subscriptions/7",
  "/dashboard/deliveries",
  "/dashboard/deliveries/7-1-1",
  "/dashboard/subscriptions/new?url=a.example",
  `/dashboard/subscriptions/new?url=a.example&path=${encodeURIComponent(evil)}`
]

/** A webhook and an address of XMPP. */
const subscriptions = (["webhook", "xmpp"] as const).map((channel, i) => ({
  resource,
  lastSequence: 1,
  subscription: {
    id: 7 + i,
    accountId: 1,
    resourceId: 1,
    topic: evil,
    channel,
    endpoint: channel === "xmpp" ? `alice@x.example/${evil}` : evil,
    host: evil,
    face: "api" as const,
    state: "active" as const,
    failing: { since: 0, announced: 0 },
    createdAt: 0
  }
}))

const served = serveDashboard({
  services,
  hub: { list: () => Effect.succeed({ total: undefined, items: subscriptions }) }
})

describe("pages with hostile texts", () => {
  it.live("show markup as text, controls by their names, and link to no script", () =>
    Effect.gen(function*() {
      const { get, signIn } = yield* served
      const cookie = yield* signIn()
      for (const path of paths) {
        const page = yield* get(path, cookie)
        assert.strictEqual(page.status, 200, path)
        assert.include(page.text, "alert(1)", path)
        const own = page.text.replace(/<script type="module" src="\/assets\/[\w.-]+" nonce="[^"]+"><\/script>/g, "")
          .replace(/<script src="\/assets\/[\w.-]+" nonce="[^"]+" defer><\/script>/g, "")
        assert.notMatch(own, /<(?:script|img|iframe|textarea)/i, path)
        const tags = own.replace(/"[^"]*"/g, "\"\"")
        assert.notMatch(tags, /<[^>]*\son\w+=/i, path)
        assert.notMatch(own, /(?:href|src|action)="\s*javascript:/i, path)
        const shown = own.replace(/ value="[^"]*"/g, "") // a field keeps its characters, or it would send others
        assert.notMatch(shown, /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/, path)
      }
    }))

  it.live.skipIf(!available)(
    "run nothing in a browser: the answer of a receiver, its address, and all others",
    () =>
      Effect.gen(function*() {
        const { signIn, url } = yield* served
        const { errors, page } = yield* openTab(yield* browser, { cookie: { url, text: yield* signIn() } })
        const opened: Array<string> = []
        page.on("dialog", (dialog) => {
          opened.push(dialog.message())
          void dialog.dismiss()
        })
        const requested: Array<string> = []
        page.on("request", (request) => requested.push(request.url()))
        for (const path of paths) {
          yield* Effect.promise(() => page.goto(`${url}${path}`))
          const shown = yield* Effect.promise(() => page.locator("main").innerText())
          assert.include(shown, "<script>alert(1)</script>", path)
          if (path === "/dashboard/deliveries/7-1-1") assert.include(shown, `<html>"><img src=x onerror=alert(1)>`)
          if (path === "/dashboard/subscriptions") assert.include(shown, `alice@x.example/"><img src=x`)
        }
        assert.deepStrictEqual([opened, errors], [[], []])
        assert.deepStrictEqual(requested.filter((one) => !one.startsWith(url)), [])
      }).pipe(Effect.scoped)
  )
})
