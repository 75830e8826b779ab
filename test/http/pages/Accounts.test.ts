import { assert, describe, it } from "@effect/vitest"
import { Effect, Option } from "effect"
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
      const bob = yield* signIn("bob", "battery staple")
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
})
