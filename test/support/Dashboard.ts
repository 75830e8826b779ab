import { Effect, Layer, Redacted } from "effect"
import { HttpServer } from "effect/http"
import { Hub } from "#actors/operations/Hub.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import * as Routes from "#http/Routes.ts"
import * as IdentityProviderOidc from "#layers/outbound/IdentityProviderOidc.ts"
import * as HttpServerNode from "#layers/server/HttpServerNode.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import * as MemoryStores from "#test/fakes/MemoryStores.ts"
import { management } from "./Api.ts"

/** Login and password of the operator of `serveDashboard`. */
export const operator = { login: "admin", password: "correct horse" }

/** A response, as a browser without JavaScript sees it. */
export interface PageResponse {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** Name and value of the first cookie that the response sets; undefined without one. */
  readonly cookie: string | undefined
}

/** One request; redirects are not followed. */
const request = (url: string, init: RequestInit = {}): Effect.Effect<PageResponse> =>
  Effect.promise(async () => {
    const response = await fetch(url, { redirect: "manual", ...init })
    const cookie = response.headers.getSetCookie()[0]?.split(";")[0]
    return { status: response.status, headers: response.headers, text: await response.text(), cookie }
  })

/** The token of the forms of a page. */
const formTokenOf = (text: string): string => /name="form_token" value="([\w-]+)"/.exec(text)?.[1] ?? ""

/**
 * The pages on a real socket, over stores in memory and mocked operations. An unmocked method dies.
 *
 * Returns the URL, the services of the stores, and calls of a browser without JavaScript.
 */
export const serveDashboard = Effect.fnUntraced(function*(
  options: {
    readonly hub?: Partial<Hub["Service"]>
    readonly services?: typeof management
    readonly settings?: Partial<SettingsValues>
  } = {}
) {
  const { hub = {}, services = management, settings = {} } = options
  const context = yield* Layer.build(
    Routes.layerServed.pipe(
      Layer.provide([Layer.mock(Hub, { ready: Effect.succeed(true), ...hub }), services, IdentityProviderOidc.layer]),
      Layer.provide(HttpServerNode.layerSettings),
      Layer.provideMerge(HttpServerNode.layer),
      Layer.provideMerge(MemoryStores.layer),
      Layer.provideMerge(SettingsLayer.layerValues({ port: 0, host: "127.0.0.1", ...settings }))
    )
  )
  const { address } = yield* HttpServer.HttpServer.pipe(Effect.provideContext(context))
  const url = `http://127.0.0.1:${"port" in address ? address.port : 0}`
  const addAccount = (login: string, password: string, admin = false) =>
    AccountStore.use((store) => store.create(login, Redacted.make(password), { admin })).pipe(
      Effect.provideContext(context),
      Effect.orDie
    )
  const account = yield* addAccount(operator.login, operator.password, true)

  const get = (path: string, cookie = "", headers = {}): Effect.Effect<PageResponse> =>
    request(`${url}${path}`, { headers: { cookie, ...headers } })
  const post = (
    path: string,
    fields: Record<string, string> | ReadonlyArray<readonly [string, string]>,
    headers = {}
  ) =>
    request(`${url}${path}`, {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded", ...headers },
      body: new URLSearchParams(fields as Record<string, string>).toString()
    })
  /** Signs in, and returns the cookie. */
  const signIn = (login = operator.login, secret = operator.password): Effect.Effect<string> =>
    Effect.map(post("/dashboard/sign-in", { login, secret }), ({ cookie = "" }) => cookie)
  /** Sends a form with the token of the session. */
  const send = Effect.fnUntraced(function*(
    cookie: string,
    path: string,
    fields: Record<string, string> | ReadonlyArray<readonly [string, string]> = {}
  ) {
    const { text } = yield* get("/dashboard/account", cookie)
    const pairs = Array.isArray(fields) ? fields as ReadonlyArray<readonly [string, string]> : Object.entries(fields)
    return yield* post(path, [...pairs, ["form_token", formTokenOf(text)]], { cookie })
  })
  return { url, account, context, addAccount, get, post, signIn, send }
})
