import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import type {
  ReplayRequest,
  Representation,
  RetrieveRequest,
  SubscribeRequest,
  UnsubscribeRequest
} from "#actors/operations/Hub.ts"
import { type Right, rights, tokenRights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { initialState } from "#test/support/Resources.ts"
import { badParameter, NotSubscribed, NotVerified, refuse, Throttled, Unavailable } from "#domain/Refusal.ts"
import type { SubscriptionItem } from "#domain/ports/SubscriptionStore.ts"
import type { Subscription } from "#domain/Subscription.ts"
import { basic, caller, form, makeApi } from "#test/support/Api.ts"

const subscription: Subscription = {
  id: 1,
  accountId: 1,
  resourceId: 1,
  topic: "HTTP://Feeds.example/a.xml",
  channel: "webhook",
  endpoint: "http://reader.example/push",
  host: "reader.example",
  face: "api",
  state: "active",
  createdAt: 0
}

const listed: SubscriptionItem = {
  subscription,
  resource: initialState({ kind: "feed", code: 200 }),
  deliveries: { waiting: 0, dropped: 0 }
}

const representation: Representation = {
  status: { feed: subscription.topic, code: 200 },
  header: { title: { value: "A feed", type: "text" } },
  entries: [{ id: "entry-1" }]
}

const subscribing = { "hub.mode": "subscribe", "hub.topic": "http://a/", "hub.callback": "http://b/" }

const get = { headers: basic() }

describe("subscribe", () => {
  it.effect("passes all parameters to the hub, and responds with 204", () =>
    Effect.gen(function*() {
      const seen: Array<SubscribeRequest> = []
      const api = yield* makeApi({
        subscribe: (request) => Effect.sync(() => (seen.push(request), { outcome: "done", subscription }))
      })
      const answer = yield* api(
        "/",
        form({
          ...subscribing,
          "hub.secret": "s",
          format: "JSON",
          "hub.verify": "sync",
          "hub.verify_token": "t",
          "hub.retry": "SHORT",
          "hub.label[0]": "News",
          "hub.label[1]": "Tech"
        })
      )
      assert.strictEqual(answer.status, 204)
      assert.strictEqual(answer.body, "")
      assert.strictEqual(answer.headers.get("pubsubhubbub-version"), "0.3")
      assert.deepStrictEqual(seen.map(({ caller, ...rest }) => ({ ...rest, login: caller.account.login })), [{
        login: "alice",
        topic: "http://a/",
        callback: "http://b/",
        format: "json",
        secret: "s",
        retry: "short",
        labels: ["News", "Tech"],
        verify: "sync",
        verifyToken: "t",
        face: "api",
        retrieve: false
      }])
    }))

  it.effect("responds with 202 while Windhover asks the callback in the background", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({ subscribe: () => Effect.succeed({ outcome: "pending", subscription }) })
      const answer = yield* api("/hubbub", form({ ...subscribing, "hub.verify": "async" }))
      assert.strictEqual(answer.status, 202)
    }))

  it.effect("responds with 200 and the stored entries for retrieve=true", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({
        subscribe: ({ retrieve }) =>
          Effect.succeed({ outcome: "done", subscription, ...(retrieve && { representation }) })
      })
      const answer = yield* api(
        "/hubbub/",
        form({ ...subscribing, retrieve: "true" }, { ...basic(), accept: "application/json, text/plain, */*" })
      )
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("content-type"), "application/json; charset=utf-8")
      assert.deepStrictEqual(JSON.parse(answer.body).items.map((item: { id: string }) => item.id), ["entry-1"])
    }))

  it.effect.each(
    [
      [["sync", "async"], "sync"],
      [["async,sync"], "async"],
      [["keyword", "ASYNC"], "async"]
    ] as const
  )("takes the first known word of hub.verify %j", ([words, expected]) =>
    Effect.gen(function*() {
      const seen: Array<string | undefined> = []
      const api = yield* makeApi({
        subscribe: ({ verify }) => Effect.sync(() => (seen.push(verify), { outcome: "done", subscription }))
      })
      yield* api("/", form([...Object.entries(subscribing), ...words.map((word) => ["hub.verify", word] as const)]))
      assert.deepStrictEqual(seen, [expected])
    }))
})

describe("refusals", () => {
  const refusals = [
    [badParameter("hub.topic", "Not this one."), 422],
    [refuse(new NotVerified({ message: "It did not echo the challenge." })), 422],
    [refuse(new NotSubscribed({ message: "Please, make sure you are subscribed to that feed." })), 404],
    [refuse(new Throttled({ message: "Slower, please.", retryAfter: 2.2 })), 429],
    [refuse(new Unavailable({ message: "Later, please.", retryAfter: 0 })), 503]
  ] as const

  it.effect("have a status and a sentence each", () =>
    Effect.gen(function*() {
      for (const [refusal, status] of refusals) {
        const api = yield* makeApi({ retrieve: () => Effect.fail(refusal) })
        const answer = yield* api("/?hub.mode=retrieve&hub.topic=http://a/", get)
        assert.strictEqual(answer.status, status)
        assert.strictEqual(answer.body, refusal.message)
        assert.strictEqual(answer.headers.get("content-type"), "text/plain; charset=utf-8")
        assert.strictEqual(answer.headers.get("cache-control"), "no-store")
      }
    }))

  it.effect("set Retry-After", () =>
    Effect.gen(function*() {
      const retry = function*(refusal: typeof refusals[number][0]) {
        const api = yield* makeApi({ retrieve: () => Effect.fail(refusal) })
        return (yield* api("/?hub.mode=retrieve&hub.topic=http://a/", get)).headers.get("retry-after")
      }
      assert.strictEqual(yield* retry(refusals[3][0]), "3")
      assert.strictEqual(yield* retry(refusals[4][0]), "1")
    }))

  it.effect("are a script with status 200 for JSONP", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({ retrieve: () => Effect.fail(refusals[2][0]) })
      const answer = yield* api("/?hub.mode=retrieve&hub.topic=http://a/&callback=my.show", get)
      assert.strictEqual(answer.status, 200)
      assert.strictEqual(answer.headers.get("content-type"), "text/javascript; charset=utf-8")
      assert.strictEqual(
        answer.body,
        "my.show({\"error\":{\"code\":404,\"message\":\"Please, make sure you are subscribed to that feed.\"}})"
      )
    }))

  it.effect("a defect is status 500 and reveals no internals", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({ retrieve: () => Effect.die(new Error("table accounts is gone")) })
      const answer = yield* api("/?hub.mode=retrieve&hub.topic=http://a/", get)
      assert.strictEqual(answer.status, 500)
      assert.strictEqual(answer.body, "Internal error; the log of Windhover has the details.")
    }))
})

describe("a token", () => {
  it.effect("allows the operations of its rights only", () =>
    Effect.gen(function*() {
      const nothing = Effect.succeed({ status: { feed: "" }, entries: [] })
      const api = yield* makeApi({
        subscribe: () => Effect.succeed({ outcome: "done" }),
        unsubscribe: () => Effect.succeed("done"),
        listBriefly: () => Effect.succeed([]),
        retrieve: () => nothing,
        replay: () => Effect.void,
        publish: () => Effect.void
      })
      const call = (mode: string, right: string) =>
        api(
          "/",
          form({ ...subscribing, "hub.mode": mode, "hub.url": "http://a/" }, basic(right))
        ).pipe(Effect.map(({ status }) => status))
      const modes = ["subscribe", "unsubscribe", "list", "retrieve", "replay", "publish", "authenticate"]
      const allowed: Record<string, ReadonlyArray<string>> = {}
      for (const right of rights) {
        const statuses = yield* Effect.forEach(modes, (mode) => call(mode, right))
        assert.deepStrictEqual([...new Set(statuses)].filter((status) => ![200, 204, 403].includes(status)), [])
        allowed[right] = modes.filter((_, i) => statuses[i] !== 403)
      }
      assert.deepStrictEqual(allowed, {
        subscribe: ["subscribe", "authenticate"],
        unsubscribe: ["unsubscribe", "authenticate"],
        list: ["list", "authenticate"],
        retrieve: ["retrieve", "replay", "authenticate"],
        publish: ["publish", "authenticate"],
        xmpp: ["authenticate"]
      })
    }))

  it.effect("needs the right to retrieve for retrieve=true", () =>
    Effect.gen(function*() {
      const seen: Array<SubscribeRequest> = []
      const api = yield* makeApi({
        subscribe: (request) => Effect.sync(() => (seen.push(request), { outcome: "done" as const }))
      })
      const refused = yield* api("/", form({ ...subscribing, retrieve: "true" }, basic("subscribe")))
      assert.strictEqual(refused.status, 403)
      assert.match(refused.body, /does not have the right "retrieve"; it has "subscribe"/)
      assert.deepStrictEqual(seen, [])
      assert.strictEqual((yield* api("/", form({ ...subscribing, retrieve: "false" }, basic("subscribe")))).status, 204)
    }))
})

describe("unsubscribe", () => {
  it.effect("responds with 204, or with 202 while pending", () =>
    Effect.gen(function*() {
      const seen: Array<UnsubscribeRequest> = []
      const api = yield* makeApi({
        unsubscribe: (request) =>
          Effect.sync(() => (seen.push(request), request.verify === undefined ? "done" : "pending"))
      })
      const fields = { "hub.mode": "unsubscribe", "hub.topic": "http://a/" }
      assert.strictEqual((yield* api("/", form(fields))).status, 204)
      assert.isUndefined(seen[0]?.callback)
      assert.strictEqual(
        (yield* api("/", form({ ...fields, "hub.callback": "http://b/", "hub.verify": "async" }))).status,
        202
      )
      assert.strictEqual(seen[1]?.callback, "http://b/")
    }))

  it.effect("without a subscription is 422, not 404", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({
        unsubscribe: () => Effect.fail(refuse(new NotSubscribed({ message: "You are not." })))
      })
      const answer = yield* api("/", form({ "hub.mode": "unsubscribe", "hub.topic": "http://a/" }))
      assert.strictEqual(`${answer.status} ${answer.body}`, "422 You are not.")
    }))
})

describe("list", () => {
  const makeList = (items: ReadonlyArray<SubscriptionItem> = [listed]) =>
    makeApi({
      list: ({ byPage, page }) =>
        Effect.succeed({ items: page === 1 ? items.slice(0, byPage) : [], total: items.length }),
      listBriefly: ({ byPage, page }) => Effect.succeed(page === 1 ? items.slice(0, byPage) : [])
    })

  it.effect("is an array of subscriptions with unchanged topics", () =>
    Effect.gen(function*() {
      const api = yield* makeList()
      const answer = yield* api("/?hub.mode=list", get)
      assert.strictEqual(answer.headers.get("content-type"), "application/json; charset=utf-8")
      assert.deepStrictEqual(JSON.parse(answer.body), [{
        subscription: {
          format: "atom",
          endpoint: "http://reader.example/push",
          secret: null,
          feed: { title: null, url: "HTTP://Feeds.example/a.xml" }
        }
      }])
    }))

  it.effect("shows secrets to credentials that may subscribe, and null to a token for the list alone", () =>
    Effect.gen(function*() {
      const api = yield* makeList([{ ...listed, subscription: { ...listed.subscription, secret: "sesame" } }])
      const readSecrets = (secret: string) =>
        Effect.forEach(
          ["/?hub.mode=list", "/?hub.mode=list&detailed=true"],
          (url) => Effect.map(api(url, { headers: basic(secret) }), ({ body }) => /"secret":([^,]*),/.exec(body)?.[1])
        )
      assert.deepStrictEqual(yield* readSecrets("wonder"), ["\"sesame\"", "\"sesame\""])
      assert.deepStrictEqual(yield* readSecrets("list"), ["null", "null"])
    }))

  it.effect("is empty past the last page", () =>
    Effect.gen(function*() {
      const api = yield* makeList()
      assert.strictEqual((yield* api("/?hub.mode=list&page=2", get)).body, "[]")
    }))

  it.effect("is an object with the status of each resource for detailed=true", () =>
    Effect.gen(function*() {
      const api = yield* makeList()
      const answer = JSON.parse((yield* api("/?hub.mode=list&detailed=true&by_page=3", get)).body)
      assert.deepStrictEqual(answer.meta, { total: 1, page: 1, byPage: 3, by_page: 3, search: {} })
      assert.strictEqual(answer.subscriptions[0].subscription.feed.status.feed, "HTTP://Feeds.example/a.xml")
      assert.strictEqual(answer.subscriptions[0].subscription.feed.status.code, 200)
    }))

  it.effect("is a script for JSONP", () =>
    Effect.gen(function*() {
      const api = yield* makeList([])
      assert.strictEqual((yield* api("/?hub.mode=list&callback=show", get)).body, "show([])")
    }))

  it.effect("passes the search to the hub, and repeats the search in a detailed list", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const api = yield* makeApi({
        list: ({ caller: _, ...query }) => Effect.sync(() => (seen.push(query), { items: [], total: 0 })),
        listBriefly: ({ caller: _, ...query }) => Effect.sync(() => (seen.push(query), []))
      })
      const search = "search[feed][url]=http://a&search[feed.velocity]=%3E3&search.format=JSON"
      const answer = yield* api(`/?hub.mode=list&detailed=true&${search}`, get)
      assert.deepStrictEqual(JSON.parse(answer.body).meta, {
        total: 0,
        page: 1,
        by_page: 20,
        byPage: 20,
        search: { feed: { url: "http://a", velocity: ">3" }, format: "JSON" }
      })
      yield* api("/", form({ "hub.mode": "list", "search[endpoint][jid]": "ann@jabber.example" }))
      const ranks = [{ rank: "velocity", range: { relation: ">", value: 3 } }]
      assert.deepStrictEqual(seen, [
        { page: 1, byPage: 20, counted: true, presence: true, search: { feedUrl: "http://a/", format: "json", ranks } },
        { page: 1, byPage: 20, search: { endpointJid: "ann@jabber.example", ranks: [] } }
      ])
    }))

  it.effect.each(
    [
      ["search=news", "search needs a key: search[KEY]=…, where KEY is one of format,"],
      ["search[feed][title]=news", "search has no key \"feed.title\"; there are format,"],
      ["search[__proto__][x]=1", "search has no key \"__proto__.x\";"],
      ["search[feed][inurl]=ab", "search[feed.inurl] has to have 3 characters or more; received \"ab\"."],
      [
        "search[format]=json&search[format]=atom",
        "search.format was sent 2 times with different values, such as \"json\" and \"atom\"; send it once."
      ]
    ] as const
  )("%s is refused", ([query, expected]) =>
    Effect.gen(function*() {
      const answer = yield* (yield* makeList())(`/?hub.mode=list&${query}`, get)
      assert.strictEqual(answer.status, 422)
      assert.strictEqual(answer.body.slice(0, expected.length), expected)
    }))
})

describe("retrieve", () => {
  it.effect("passes count, before and after to the hub", () =>
    Effect.gen(function*() {
      const seen: Array<RetrieveRequest> = []
      const api = yield* makeApi({ retrieve: (request) => Effect.sync(() => (seen.push(request), representation)) })
      yield* api("/?hub.mode=retrieve&hub.topic=http://a/&count=50&before=x&after=y", get)
      yield* api("/?hub.mode=retrieve&hub.callback=http://b/", get)
      yield* api("/?hub.mode=retrieve&hub.callback[endpoint][hostname]=B.example", get)
      assert.deepStrictEqual(seen.map(({ caller: _, ...rest }) => rest), [
        { topic: "http://a/", count: 50, before: "x", after: "y" },
        { callback: "http://b/", count: 10 },
        { search: { ranks: [], endpointHostname: "b.example" }, count: 10 }
      ])
    }))

  it.effect("is Atom unless the client requests JSON", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({ retrieve: () => Effect.succeed(representation) })
      const type = Effect.fnUntraced(function*(query: string, accept = "*/*") {
        const answer = yield* api(`/?hub.mode=retrieve&hub.topic=http://a/${query}`, {
          headers: { ...basic(), accept }
        })
        return answer.headers.get("content-type")
      })
      assert.strictEqual(yield* type(""), "application/atom+xml")
      assert.strictEqual(yield* type("&format=json"), "application/json; charset=utf-8")
      assert.strictEqual(yield* type("", "application/json"), "application/json; charset=utf-8")
      assert.strictEqual(yield* type("&format=atom", "application/json"), "application/atom+xml")
      assert.strictEqual(yield* type("&format=xml"), "text/plain; charset=utf-8")
    }))

  it.effect("keeps other resources unchanged unless the parameter names a format", () =>
    Effect.gen(function*() {
      const document = { contentType: "text/plain", body: Buffer.from("hello") }
      const api = yield* makeApi({ retrieve: () => Effect.succeed({ ...representation, document }) })
      const headers = { ...basic(), accept: "application/json, text/plain, */*" }
      const asIs = yield* api("/?hub.mode=retrieve&hub.topic=http://a/", { headers })
      assert.deepStrictEqual([asIs.headers.get("content-type"), asIs.body], ["text/plain", "hello"])
      const enveloped = yield* api("/?hub.mode=retrieve&hub.topic=http://a/&format=json", { headers })
      assert.strictEqual(JSON.parse(enveloped.body).items[0].content, "hello")
    }))

  it.effect("marks a format from Accept as for feeds only", () =>
    Effect.gen(function*() {
      const seen: Array<unknown> = []
      const api = yield* makeApi({
        subscribe: ({ feedsOnly, format }) =>
          Effect.sync(() => (seen.push([format, feedsOnly]), { outcome: "done", subscription }))
      })
      const accept = { ...basic(), accept: "application/json, text/plain, */*" }
      yield* api("/", form(subscribing, accept))
      yield* api("/", form({ ...subscribing, format: "json" }, accept))
      yield* api("/", form(subscribing))
      assert.deepStrictEqual(seen, [["json", true], ["json", undefined], [undefined, undefined]])
    }))

  it.effect("has an ETag, and responds with 304 when the client has the content", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({ retrieve: () => Effect.succeed(representation) })
      const url = "/?hub.mode=retrieve&hub.topic=http://a/&format=json"
      const etag = (yield* api(url, get)).headers.get("etag") ?? ""
      assert.match(etag, /^"[0-9a-f]{16}"$/)
      const again = yield* api(url, { headers: { ...basic(), "if-none-match": `W/${etag}` } })
      assert.strictEqual(again.status, 304)
      assert.strictEqual(again.body, "")
      assert.strictEqual(again.headers.get("etag"), etag)
      assert.strictEqual(again.headers.get("cache-control"), "private, no-cache")
    }))

  it.effect("sends other resources unchanged, with a Content-Security-Policy", () =>
    Effect.gen(function*() {
      const document = { contentType: "text/html", body: new TextEncoder().encode("<script>alert(1)</script>") }
      const api = yield* makeApi({ retrieve: () => Effect.succeed({ ...representation, document }) })
      const answer = yield* api("/?hub.mode=retrieve&hub.topic=http://a/", get)
      assert.strictEqual(answer.body, "<script>alert(1)</script>")
      assert.strictEqual(answer.headers.get("content-type"), "text/html")
      assert.strictEqual(answer.headers.get("content-security-policy"), "default-src 'none'; sandbox")
      assert.strictEqual(answer.headers.get("x-content-type-options"), "nosniff")
      assert.match(
        (yield* api("/?hub.mode=retrieve&hub.topic=http://a/&callback=f", get)).body,
        /^f\(\{"error":\{"code":422/
      )
    }))

  it.effect("sends a JSON document as a script", () =>
    Effect.gen(function*() {
      const document = { contentType: "application/json", body: new TextEncoder().encode("{ \"a\": \"\u2028\" }") }
      const api = yield* makeApi({ retrieve: () => Effect.succeed({ ...representation, document }) })
      const answer = yield* api("/?hub.mode=retrieve&hub.topic=http://a/&callback=f", get)
      assert.strictEqual(answer.body, "f({ \"a\": \"\\u2028\" })")
    }))

  it.effect.each([
    [
      "",
      "Please provide a hub.topic, the URL of a resource that you are subscribed to, or a hub.callback, the callback of your subscriptions."
    ],
    [
      "&hub.topic=http://a/&count=51",
      "count has to be a whole number from 1 to 50; received \"51\". The default is 10."
    ],
    [
      "&hub.topic=http://a/&format=atom&callback=f",
      "f({\"error\":{\"code\":422,\"message\":\"callback (JSONP) goes with the JSON format only; received format=atom. Leave one of them out.\"}})"
    ],
    [
      "&hub.topic=http://a/&callback=alert(1)",
      "callback has to be the name of a JavaScript function, of at most 128 characters; received \"alert(1)\". The URL for notifications is hub.callback."
    ],
    [
      "&hub.callback[endpoint][hostname]=http://b",
      "hub.callback[endpoint.hostname] has to be the name of a host, without scheme, port and path; received \"http://b\"."
    ]
  ])("%s is refused with a sentence", ([query, expected]) =>
    Effect.gen(function*() {
      const api = yield* makeApi({ retrieve: () => Effect.succeed(representation) })
      assert.strictEqual((yield* api(`/?hub.mode=retrieve${query}`, get)).body, expected)
    }))
})

describe("replay", () => {
  it.effect("passes its parameters to the hub, and responds with 204", () =>
    Effect.gen(function*() {
      const seen: Array<ReplayRequest> = []
      const api = yield* makeApi({ replay: (request) => Effect.sync(() => void seen.push(request)) })
      const url = "/?hub.mode=replay&hub.topic=http://a/&hub.callback=http://b/"
      assert.strictEqual((yield* api(url, get)).status, 204)
      assert.strictEqual((yield* api(`${url}&count=50&async=true`, { headers: basic("retrieve") })).status, 204)
      assert.deepStrictEqual(seen.map(({ caller: _, ...rest }) => rest), [
        { topic: "http://a/", callback: "http://b/", count: 1, async: false },
        { topic: "http://a/", callback: "http://b/", count: 50, async: true }
      ])
    }))

  it.effect.each(
    [
      ["&hub.topic=http://a/", "list", 403, "This token does not have the right \"retrieve\";"],
      ["&hub.topic=http://a/", "retrieve", 422, "Please provide a hub.callback:"],
      ["&hub.callback=http://b/&count=51", "retrieve", 422, "count has to be a whole number from 1 to 50;"],
      ["&hub.callback=http://b/&async=maybe", "retrieve", 422, "async can be true or false or"]
    ] as const
  )("%s with the right %s is %d", ([query, right, status, sentence]) =>
    Effect.gen(function*() {
      const answer = yield* (yield* makeApi({}))(`/?hub.mode=replay${query}`, { headers: basic(right) })
      assert.strictEqual(`${answer.status} ${answer.body.slice(0, sentence.length)}`, `${status} ${sentence}`)
    }))
})

describe("publish", () => {
  it.effect.each(
    [
      [[["hub.url", "http://a/"], ["hub.url", "http://b/"]], ["http://a/", "http://b/"]],
      [[["hub.url[]", "http://a/"], ["hub.url[]", "http://a/"]], ["http://a/"]],
      [[["hub.url", "http://a/?x=1,2, https://b/"]], ["http://a/?x=1,2", "https://b/"]],
      [[["hub.topic", "http://a/"]], ["http://a/"]]
    ] as const
  )("reads %j", ([fields, expected]) =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const api = yield* makeApi({ publish: (topics) => Effect.sync(() => void seen.push(...topics)) })
      const answer = yield* api("/", form([["hub.mode", "publish"], ...fields]))
      assert.strictEqual(answer.status, 204)
      assert.deepStrictEqual(seen, [...expected])
    }))

  it.effect("needs at least one URL, and accepts at most 500", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      assert.strictEqual((yield* api("/", form({ "hub.mode": "publish" }))).status, 422)
      const many = Array.from({ length: 501 }, (_, i) => `http://a/${i}`).join(",")
      const answer = yield* api("/", form({ "hub.mode": "publish", "hub.url": many }))
      assert.strictEqual(answer.body, "hub.url names 501 URLs; at most 500 are accepted in one request.")
    }))
})

describe("authenticate", () => {
  it.effect("confirms the credentials and lists their rights", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      assert.strictEqual((yield* api("/?hub.mode=authenticate", { headers: basic("list") })).status, 204)
      assert.deepStrictEqual(
        JSON.parse((yield* api("/?hub.mode=authenticate&rights=true", { headers: basic("list") })).body),
        {
          subscribe: false,
          unsubscribe: false,
          list: true,
          retrieve: false,
          publish: false,
          xmpp: false
        }
      )
    }))

  it.effect("names the right admin for the account of an operator alone", () =>
    Effect.gen(function*() {
      const keysOf = Effect.fnUntraced(function*(admin: boolean, granted: ReadonlyArray<Right>) {
        const found = caller(granted)
        const account = { ...found.account, ...(admin && { admin }) }
        const api = yield* makeApi(
          {},
          Layer.mock(AccountStore, { authenticate: () => Effect.succeedSome({ ...found, account }) })
        )
        return JSON.parse((yield* api("/?hub.mode=authenticate&rights=true", { headers: basic() })).body)
      })
      assert.deepStrictEqual(Object.keys(yield* keysOf(false, rights)), [...rights])
      assert.strictEqual((yield* keysOf(true, rights)).admin, false)
      assert.strictEqual((yield* keysOf(true, tokenRights)).admin, true)
    }))
})

describe("hub.mode", () => {
  it.effect("is rejected with the original service's sentence when missing or unknown", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const missing = yield* api("/", get)
      assert.strictEqual(
        `${missing.status} ${missing.body}`,
        "422 Please provide a hub.mode : subscribe|unsubscribe|publish. Also known here: list, retrieve, status, replay and authenticate."
      )
      const unknown = yield* api("/?hub.mode=dance%0A", get)
      assert.strictEqual(
        unknown.body,
        "dance\\n is not a supported mode subscribe|unsubscribe|publish. Also known here: list, retrieve, status, replay and authenticate."
      )
    }))

  it.effect("may be in upper case", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      assert.strictEqual((yield* api("/?hub.mode=Authenticate", get)).status, 204)
    }))

  it.effect("needs POST for a change; a header may override the method", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({ publish: () => Effect.void })
      const url = "/?hub.mode=publish&hub.url=http://a/"
      const refused = yield* api(url, get)
      assert.strictEqual(
        `${refused.status} ${refused.body}`,
        "405 hub.mode=publish changes state and needs POST; received GET."
      )
      assert.strictEqual(refused.headers.get("allow"), "POST")
      const overridden = yield* api(url, { headers: { ...basic(), "x-http-method-override": "post" } })
      assert.strictEqual(overridden.status, 204)
    }))
})

describe("methods and paths", () => {
  it.effect("OPTIONS lists the allowed methods and headers", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const answer = yield* api("/", { method: "OPTIONS" })
      assert.strictEqual(answer.status, 204)
      assert.strictEqual(answer.headers.get("access-control-allow-origin"), "*")
      assert.strictEqual(answer.headers.get("access-control-allow-methods"), "GET, HEAD, POST, OPTIONS")
      assert.match(answer.headers.get("access-control-allow-headers") ?? "", /^Authorization, /)
    }))

  it.effect("other methods are rejected by name", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      const answer = yield* api("/", { method: "DELETE", headers: basic() })
      assert.strictEqual(
        `${answer.status} ${answer.body}`,
        "405 The method \"DELETE\" is not allowed here; use GET or POST with a hub.mode."
      )
      assert.strictEqual(answer.headers.get("allow"), "GET, HEAD, POST, OPTIONS")
    }))

  it.effect("other paths are 404", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({})
      for (const [url, shown] of [["/nothing?x=1", "/nothing"], ["/%zz", "/%zz"]] as const) {
        const answer = yield* api(url)
        assert.strictEqual(
          `${answer.status} ${answer.body}`,
          `404 There is nothing at "${shown}"; the API is at /, with a hub.mode.`
        )
      }
    }))
})

describe("reverse proxies", () => {
  const guess = (client: string) => ({ headers: { ...basic("guess"), "x-forwarded-for": `203.0.113.9, ${client}` } })

  it.effect("name the client if they are trusted", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({}, undefined, { trustedProxies: ["192.0.2.0/24"] })
      for (let i = 0; i < 10; i++) yield* api("/?hub.mode=list", guess("198.51.100.7"))
      assert.strictEqual((yield* api("/?hub.mode=list", guess("198.51.100.7"))).status, 429)
      assert.strictEqual((yield* api("/?hub.mode=list", guess("198.51.100.8"))).status, 401)
    }))

  it.effect("are ignored if they are not trusted, because any client can send the header", () =>
    Effect.gen(function*() {
      const api = yield* makeApi({}, undefined, { trustedProxies: ["10.0.0.0/8"] })
      for (let i = 0; i < 10; i++) yield* api("/?hub.mode=list", guess(`198.51.100.${i}`))
      assert.strictEqual((yield* api("/?hub.mode=list", guess("198.51.100.99"))).status, 429)
    }))
})
