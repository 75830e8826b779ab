import { assert, describe, it } from "@effect/vitest"
import { Effect, Option, Redacted } from "effect"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { operator, serveDashboard } from "#test/support/Dashboard.ts"

const served = Effect.gen(function*() {
  const dashboard = yield* serveDashboard({ hub: { list: () => Effect.succeed({ items: [], total: undefined }) } })
  const find = (login: string) =>
    AccountStore.use((store) => store.find(login)).pipe(Effect.provideContext(dashboard.context))
  return { ...dashboard, find, cookie: yield* dashboard.signIn() }
})

describe("accounts", () => {
  it.live("are listed page by page, and by a part of the login", () =>
    Effect.gen(function*() {
      const { addAccount, cookie, get, url } = yield* served
      for (let n = 10; n < 120; n++) yield* addAccount(`user${n}`, "battery staple")
      const first = yield* get("/dashboard/accounts", cookie)
      assert.include(first.text, "user108")
      assert.notInclude(first.text, "user109")
      const next = /href="(\/dashboard\/accounts\?cursor=\d+)"/.exec(first.text)?.[1] ?? ""
      const second = yield* get(next, cookie)
      assert.include(second.text, "user109")
      assert.include(second.text, "user119")
      assert.notInclude(second.text, "rel=\"next\"")
      const found = yield* get("/dashboard/accounts?search=%20USER11%20", cookie)
      assert.include(found.text, "user110")
      assert.notInclude(found.text, "user109")
      assert.strictEqual((yield* get("/dashboard/accounts?cursor=x", cookie)).status, 422)
      assert.strictEqual((yield* get("/dashboard/accounts?cursor=999999999999999", cookie)).status, 200)

      const list = (query: string) =>
        Effect.promise(async () => {
          const credentials = Buffer.from(`${operator.login}:${operator.password}`).toString("base64")
          const response = await fetch(`${url}/api/accounts?${query}`, {
            headers: { authorization: `Basic ${credentials}` }
          })
          return await response.json() as {
            readonly accounts: ReadonlyArray<{ readonly login: string }>
            readonly next?: string
          }
        })
      const page = yield* list("limit=2")
      assert.deepStrictEqual(page.accounts.map(({ login }) => login), ["admin", "user10"])
      const rest = yield* list(`limit=2&cursor=${page.next}`)
      assert.deepStrictEqual(rest.accounts.map(({ login }) => login), ["user11", "user12"])
      const last = yield* list("limit=2&login=USER119")
      assert.deepStrictEqual([last.accounts.length, last.next], [1, undefined])
    }))

  it.live("are created, credited, disabled and deleted by an operator's forms", () =>
    Effect.gen(function*() {
      const { cookie, find, get, send, signIn } = yield* served
      const created = yield* send(cookie, "/dashboard/accounts", { login: "bob", password: "battery staple" })
      assert.strictEqual(created.status, 303)
      const weak = yield* send(cookie, "/dashboard/accounts", { login: "carol", password: "short" })
      assert.strictEqual(weak.status, 422)
      assert.include(weak.text, "A password has 8 to 1024 characters; this one has 5.")
      assert.include(weak.text, `value="carol"`)
      const taken = yield* send(cookie, "/dashboard/accounts", { login: "bob", password: "battery staple" })
      assert.include(taken.text, "The account &quot;bob&quot; exists already.")
      yield* send(cookie, "/dashboard/accounts/credits", { of: "bob", credits: "1500" })
      assert.deepStrictEqual(Option.map(yield* find("bob"), ({ credits }) => credits), Option.some(1500))
      yield* send(cookie, "/dashboard/accounts/limit", { limited: "bob", maximum: "12" })
      assert.deepStrictEqual(Option.map(yield* find("bob"), (one) => one.maxSubscriptions), Option.some(12))
      const wrong = yield* send(cookie, "/dashboard/accounts/limit", { limited: "bob", maximum: "-1" })
      assert.strictEqual(wrong.status, 422)
      assert.include(wrong.text, "A limit is a whole number from 0 to 10000000, or empty.")
      assert.strictEqual((yield* send(cookie, "/dashboard/accounts/limit", { limited: "eve" })).status, 404)
      const bob = yield* signIn("bob", "battery staple")
      assert.match((yield* get("/dashboard/account", bob)).text, /Subscription limit<\/dt>\s*<dd>12</)
      assert.strictEqual((yield* get("/dashboard/account", bob)).status, 200)
      assert.strictEqual((yield* get("/dashboard/accounts", bob)).status, 403)
      assert.strictEqual((yield* send(bob, "/dashboard/accounts/delete", { login: "admin" })).status, 403)
      yield* send(cookie, "/dashboard/accounts/change", { login: "bob", disabled: "yes" })
      assert.strictEqual((yield* get("/dashboard/account", bob)).status, 303)
      assert.strictEqual(yield* signIn("bob", "battery staple"), "")
      const deleted = yield* send(cookie, "/dashboard/accounts/delete", { login: "bob" })
      assert.strictEqual(deleted.status, 303)
      assert.deepStrictEqual(yield* find("bob"), Option.none())
      const missing = yield* send(cookie, "/dashboard/accounts/delete", { login: "bob" })
      assert.strictEqual(missing.status, 404)
    }))

  it.live("let no operator lock itself out", () =>
    Effect.gen(function*() {
      const { cookie, find, send } = yield* served
      for (const path of ["delete", "change"]) {
        const answer = yield* send(cookie, `/dashboard/accounts/${path}`, { login: operator.login, disabled: "yes" })
        assert.strictEqual(answer.status, 422, path)
      }
      assert.deepStrictEqual(
        Option.map(yield* find(operator.login), ({ disabled }) => disabled),
        Option.some(undefined)
      )
    }))

  it.live("have routes for programs, with the right admin", () =>
    Effect.gen(function*() {
      const { addAccount, find, url } = yield* served
      yield* addAccount("bob", "battery staple")
      const call = (path: string, body: object, credentials = `${operator.login}:${operator.password}`) =>
        Effect.promise(async () => {
          const response = await fetch(`${url}${path}`, {
            method: "POST",
            headers: {
              authorization: `Basic ${Buffer.from(credentials).toString("base64")}`,
              "content-type": "application/json"
            },
            body: JSON.stringify(body)
          })
          return [response.status, await response.json()] as const
        })
      const refused = yield* call("/api/accounts/credits", { login: "bob", credits: 5 }, "bob:battery staple")
      assert.strictEqual(refused[0], 403)
      assert.deepStrictEqual(yield* call("/api/accounts/credits", { login: "bob", credits: -5 }), [
        200,
        { login: "bob", credits: -5 }
      ])
      assert.deepStrictEqual(yield* call("/api/accounts/change", { login: "bob", disabled: true }), [200, {
        login: "bob"
      }])
      assert.deepStrictEqual(Option.map(yield* find("bob"), ({ disabled }) => disabled), Option.some(true))
      const limit = (maxSubscriptions: unknown) => call("/api/accounts/change", { login: "bob", maxSubscriptions })
      assert.strictEqual((yield* limit(3))[0], 200)
      assert.deepStrictEqual(Option.map(yield* find("bob"), (one) => one.maxSubscriptions), Option.some(3))
      assert.strictEqual((yield* limit(null))[0], 200)
      assert.deepStrictEqual(Option.map(yield* find("bob"), (one) => one.maxSubscriptions), Option.some(undefined))
      for (const wrong of [-1, 1.5, "3", 10_000_001]) assert.strictEqual((yield* limit(wrong))[0], 422, String(wrong))
      assert.strictEqual((yield* call("/api/accounts/change", { login: "nobody", disabled: true }))[0], 404)
      const malformed = yield* call("/api/accounts/create", { login: "carol", password: 987_654_321 })
      assert.strictEqual(malformed[0], 422)
      assert.notInclude(JSON.stringify(malformed[1]), "987654321")
      const created = yield* call("/api/accounts/create", { login: "carol", password: "battery staple" })
      assert.strictEqual(created[0], 200)
      assert.deepStrictEqual(yield* call("/api/accounts/delete", { login: "carol" }), [
        200,
        { login: "carol", deleted: true }
      ])
      assert.strictEqual((yield* call("/api/accounts/delete", { login: operator.login }))[0], 422)
    }))

  it.live("list their own tokens with the last use", () =>
    Effect.gen(function*() {
      const { account, context, get, signIn, url } = yield* served
      const { secret } = yield* AccountStore.use((store) =>
        store.createToken({ accountId: account.id, name: "laptop", rights: ["list"] })
      ).pipe(Effect.provideContext(context))
      const authorization = `Basic ${Buffer.from(`${operator.login}:${Redacted.value(secret)}`).toString("base64")}`
      const read = (query = "") =>
        Effect.promise(async () => {
          const response = await fetch(`${url}/api/tokens${query}`, { headers: { authorization } })
          return await response.json() as {
            readonly tokens: ReadonlyArray<Record<string, unknown>>
            readonly next?: string
          }
        })
      const cookie = yield* signIn()
      assert.include((yield* get("/dashboard/tokens", cookie)).text, "never")
      const { tokens: [token] } = yield* read()
      assert.deepStrictEqual([token?.["name"], token?.["rights"]], ["laptop", ["list"]])
      assert.match(String(token?.["lastUsed"]), /^\d{4}-\d\d-\d\dT.*Z$/)
      assert.notInclude(JSON.stringify(token), Redacted.value(secret))
      assert.notInclude((yield* get("/dashboard/tokens", cookie)).text, "never")
      yield* AccountStore.use((store) => store.createToken({ accountId: account.id, name: "second", rights: ["list"] }))
        .pipe(Effect.provideContext(context))
      const { next = "", tokens } = yield* read("?limit=1")
      assert.deepStrictEqual(tokens.map(({ name }) => name), ["laptop"])
      const rest = yield* read(`?limit=1&cursor=${encodeURIComponent(next)}`)
      assert.deepStrictEqual([rest.tokens.map(({ name }) => name), rest.next], [["second"], undefined])
    }))
})
