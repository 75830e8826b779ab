import { Effect } from "effect"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { CurrentIdentityProvider } from "#domain/ports/IdentityProvider.ts"
import { badParameter } from "#domain/Refusal.ts"
import { findOwner } from "#http/OutsideIdentity.ts"
import { providerCallbackPath, ProviderSignIn } from "#http/ProviderSignIn.ts"
import { readProxyLogin } from "#http/ProxyLogin.ts"
import { Sessions } from "#http/Sessions.ts"
import { formTag, hidden, submit } from "./Forms.ts"
import { type Html, html } from "./Html.ts"
import { type Action, goTo, type Page, publicAction, type PublicCall, publicPage } from "./Page.ts"
import { ownPage } from "./OwnPage.ts"

const providerPath = "/dashboard/sign-in/provider"
const proxyPath = "/dashboard/sign-in/proxy"

/** The ways to sign in without a password of Windhover, for the page of the sign-in; undefined while both are off. */
export const outsideWays = Effect.fnUntraced(function*({ request, settings }: PublicCall, next: string | undefined) {
  const provider = yield* CurrentIdentityProvider
  const login = readProxyLogin(request, settings)
  const ways: ReadonlyArray<Html> = [
    ...(login === undefined ? [] : [
      formTag(
        proxyPath,
        undefined,
        html`${next === undefined ? undefined : hidden("next", next)}${submit(`Continue as ${login}`)}`,
        { label: "Sign in through the proxy" }
      )
    ]),
    ...(provider === undefined ? [] : [
      html`<p><a class="button" href="${
        next === undefined ? providerPath : `${providerPath}?${new URLSearchParams({ next })}`
      }">Sign in at ${new URL(settings.oidcIssuer ?? "").host}</a></p>`
    ])
  ]
  return ways.length === 0 ? undefined : html`${ways}<p class="hint">Or with your login here:</p>`
})

/** A button sends this form, so that a link of another site neither starts a session nor replaces one. */
const signInByProxy = publicAction(
  proxyPath,
  Effect.fnUntraced(function*(form, { request, settings }) {
    const login = readProxyLogin(request, settings)
    if (login === undefined) {
      return yield* badParameter(
        "login",
        settings.proxyLoginHeader === undefined
          ? "No proxy signs in here; an operator sets WINDHOVER_PROXY_LOGIN_HEADER to turn it on."
          : `The request has no login in the header ${settings.proxyLoginHeader}, or comes from no proxy of WINDHOVER_TRUSTED_PROXIES.`
      )
    }
    const caller = yield* findOwner(yield* AccountStore, "proxy", login)
    const cookie = yield* Sessions.use((sessions) => sessions.signIn(request, caller))
    return { ...goTo(ownPage(form.all("next")[0])), cookie }
  })
)

const beginAtProvider = publicPage(
  providerPath,
  Effect.fnUntraced(function*({ query, request }) {
    const signIn = yield* ProviderSignIn
    return { _tag: "Leave" as const, ...(yield* signIn.begin(request, ownPage(query.all("next")[0]))) }
  })
)

/**
 * The answer of the provider.
 *
 * A redirect would lead on from the provider's page, and a browser would leave the strict cookie of the new session out. So this page
 * leads on by itself.
 */
const completeAtProvider = publicPage(
  providerCallbackPath,
  Effect.fnUntraced(function*({ request }) {
    const signIn = yield* ProviderSignIn
    const { caller, next } = yield* signIn.complete(request)
    const cookie = yield* Sessions.use((sessions) => sessions.signIn(request, caller))
    const target = ownPage(next)
    return {
      _tag: "Show" as const,
      cookie,
      refresh: target,
      content: {
        title: "Signed in",
        body: html`<p>You are signed in as ${caller.account.login}. <a href="${target}">Continue</a></p>`
      }
    }
  })
)

export const outsideSignInPages: ReadonlyArray<Page<ProviderSignIn | Sessions>> = [beginAtProvider, completeAtProvider]
export const outsideSignInActions: ReadonlyArray<Action<AccountStore | Sessions>> = [signInByProxy]
