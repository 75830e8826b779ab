import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber, Layer, Option, Redacted } from "effect"
import { HttpServerRequest } from "effect/http"
import { TestClock } from "effect/testing"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { StoreError } from "#domain/ports/StoreError.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import { Authentication } from "#http/Authentication.ts"
import * as AuthenticationLayer from "#http/AuthenticationLayer.ts"
import { merge } from "#http/Parameters.ts"
import * as Settings from "#layers/Settings.ts"
import { caller } from "#test/support/Api.ts"

const base64 = (text: string) => Buffer.from(text).toString("base64")

interface Attempt {
  readonly header?: string
  readonly parameter?: string
  readonly address?: string
}

/** The login of the caller, or the reason and the sentence of the refusal. */
const attempt = Effect.fnUntraced(function*({ address = "192.0.2.1", header, parameter }: Attempt) {
  const authentication = yield* Authentication
  const request = HttpServerRequest.fromWeb(
    new Request("http://windhover.test/", header === undefined ? {} : { headers: { authorization: header } })
  ).modify({ remoteAddress: Option.some(address) })
  const parameters = yield* merge(parameter === undefined ? [] : [["authorization", parameter]], [])
  return yield* authentication.authenticate(request, parameters).pipe(
    Effect.match({
      onSuccess: ({ account }) => account.login,
      onFailure: (error) => `${error.reason._tag}: ${error.message}`
    })
  )
})

const known = Layer.mock(AccountStore, {
  authenticate: (login, secret) =>
    Effect.succeed(
      login === "alice" && Redacted.value(secret) === "wonder:land" ? Option.some(caller()) : Option.none()
    )
})

const withStore = (store: Layer.Layer<AccountStore>, settings: Partial<SettingsValues> = {}) =>
  Effect.provide(AuthenticationLayer.layer.pipe(Layer.provide([store, Settings.layerValues(settings)])))

const good = `Basic ${base64("alice:wonder:land")}`
const bad = `Basic ${base64("alice:guess")}`

describe("Authentication", () => {
  it.effect("reads HTTP Basic; the first colon ends the login", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* attempt({ header: good }), "alice")
      assert.strictEqual(yield* attempt({ header: good.replace("Basic", "basic") }), "alice")
      assert.strictEqual(
        yield* attempt({ header: bad }),
        "Unauthenticated: The login, token or password is wrong. Send login:token or login:password."
      )
    }).pipe(withStore(known)))

  it.effect("reads the parameter in every encoding", () =>
    Effect.gen(function*() {
      const plain = base64("alice:wonder:land")
      const wrapped = `${plain.slice(0, 8)}\r\n ${plain.slice(8)}\n`
      for (const parameter of [plain, wrapped, `Basic ${plain}`, plain.replace(/=+$/, "")]) {
        assert.strictEqual(yield* attempt({ parameter }), "alice")
      }
    }).pipe(withStore(known)))

  it.effect("reads a parameter with an unescaped plus sign", () =>
    Effect.gen(function*() {
      const encoded = base64("alice:ab>")
      assert.include(encoded, "+")
      assert.strictEqual(yield* attempt({ parameter: encoded.replaceAll("+", " ") }), "alice")
    }).pipe(withStore(Layer.mock(AccountStore, {
      authenticate: (_login, secret) =>
        Effect.succeed(Redacted.value(secret) === "ab>" ? Option.some(caller()) : Option.none())
    }))))

  it.effect("explains unreadable credentials without repeating a secret", () =>
    Effect.gen(function*() {
      const sentence = "Unauthenticated: The parameter authorization is not base64 of login:token."
      assert.match(yield* attempt({}), /^Unauthenticated: Please authenticate: with HTTP Basic/)
      for (const parameter of ["not base64!", base64("nocolon"), base64(":token"), base64("a\0:b"), "===="]) {
        assert.strictEqual(yield* attempt({ parameter }), sentence)
      }
      assert.strictEqual(
        yield* attempt({ header: "Bearer abc" }),
        "Unauthenticated: The Authorization header has to be \"Basic\", with base64 of login:token; received \"Bearer\"."
      )
      assert.strictEqual(
        yield* attempt({ header: "only-a-secret" }),
        "Unauthenticated: The Authorization header has to be \"Basic\", with base64 of login:token; received something else."
      )
      assert.strictEqual(
        yield* attempt({ header: "Basic ???" }),
        "Unauthenticated: The Authorization header is not base64 of login:token."
      )
    }).pipe(withStore(known)))

  it.effect("does not report an unavailable database as a wrong password", () =>
    Effect.gen(function*() {
      assert.match(yield* attempt({ header: good }), /^Unavailable: /)
    }).pipe(withStore(Layer.mock(AccountStore, {
      authenticate: () =>
        Effect.fail(new StoreError({ reason: { _tag: "Unavailable", message: "connection refused" } }))
    }))))

  it.effect("dies with a defect of the database", () =>
    Effect.gen(function*() {
      const defect = yield* attempt({ header: good }).pipe(Effect.catchDefect((error) => Effect.succeed(String(error))))
      assert.match(defect, /StoreError.*column missing/)
    }).pipe(withStore(Layer.mock(AccountStore, {
      authenticate: () => Effect.fail(new StoreError({ reason: { _tag: "Defect", message: "column missing" } }))
    }))))
})

describe("failed logins", () => {
  const guess = (address?: string) => attempt({ header: bad, ...(address !== undefined && { address }) })

  it.effect("are throttled after ten failures of one address, not of others", () =>
    Effect.gen(function*() {
      for (let i = 0; i < 10; i++) assert.match(yield* guess(), /^Unauthenticated/)
      assert.strictEqual(
        yield* guess(),
        "Throttled: Too many logins from this address have failed; try again in 6 seconds."
      )
      assert.match(yield* guess("192.0.2.2"), /^Unauthenticated/)
      yield* TestClock.adjust("6 seconds")
      assert.match(yield* guess(), /^Unauthenticated/)
      assert.match(yield* guess(), /^Throttled/)
    }).pipe(withStore(known)))

  it.effect("are throttled when all arrive at once; correct logins wait their turn", () => {
    let lookUps = 0
    const slow = Layer.mock(AccountStore, {
      authenticate: (login, secret) =>
        Effect.suspend(() => {
          lookUps++
          const isRight = login === "alice" && Redacted.value(secret) === "wonder:land"
          return Effect.delay(Effect.succeed(isRight ? Option.some(caller()) : Option.none()), "100 millis")
        })
    })
    const all = (attempts: ReadonlyArray<Attempt>) =>
      Effect.gen(function*() {
        const fiber = yield* Effect.forkChild(Effect.forEach(attempts, attempt, { concurrency: "unbounded" }))
        yield* TestClock.adjust("1 minute")
        return yield* Fiber.join(fiber)
      })
    const headers = (count: number, header: (i: number) => string, address: string) =>
      Array.from({ length: count }, (_, i) => ({ header: header(i), address }))
    return Effect.gen(function*() {
      const answers = yield* all(headers(300, (i) => `Basic ${base64(`alice:${i}`)}`, "192.0.2.1"))
      assert.isBelow(lookUps, 20) // ten failures, and at most ten running lookups
      assert.strictEqual(answers.filter((answer) => answer.startsWith("Unauthenticated")).length, lookUps)
      assert.strictEqual(answers.filter((answer) => answer.startsWith("Throttled")).length, 300 - lookUps)
      const right = yield* all(headers(50, () => good, "192.0.2.2"))
      assert.deepStrictEqual(new Set(right), new Set(["alice"]))
    }).pipe(withStore(slow))
  })

  it.effect("do not lock out credentials that were correct before", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* attempt({ header: good }), "alice")
      for (let i = 0; i < 20; i++) yield* guess()
      assert.strictEqual(yield* attempt({ header: good }), "alice")
    }).pipe(withStore(known)))

  it.effect("throttle a correct login too, if it is new", () =>
    Effect.gen(function*() {
      for (let i = 0; i < 10; i++) yield* guess()
      assert.match(yield* attempt({ header: good }), /^Throttled/)
    }).pipe(withStore(known)))

  it.effect("count an IPv6 network as one address", () =>
    Effect.gen(function*() {
      for (let i = 0; i < 10; i++) yield* guess(`2001:db8:0:1::${i}`)
      assert.match(yield* guess("2001:db8::1:ffff:0:0:1"), /^Throttled/)
      assert.match(yield* guess("2001:db8:0:2::1"), /^Unauthenticated/)
      assert.match(yield* guess("::ffff:192.0.2.9"), /^Unauthenticated/)
    }).pipe(withStore(known)))
})

describe("requestsPerMinute", () => {
  it.effect("limits the requests of a token if the operator sets a limit", () =>
    Effect.gen(function*() {
      assert.strictEqual(yield* attempt({ header: good }), "alice")
      assert.strictEqual(yield* attempt({ header: good }), "alice")
      assert.strictEqual(
        yield* attempt({ header: good }),
        "Throttled: Too many requests with this token; try again in 30 seconds."
      )
      yield* TestClock.adjust("30 seconds")
      assert.strictEqual(yield* attempt({ header: good }), "alice")
    }).pipe(withStore(known, { requestsPerMinute: 2 })))
})
