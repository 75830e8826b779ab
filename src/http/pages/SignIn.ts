import { Effect, Redacted } from "effect"
import { badParameter, refuse, Unauthenticated } from "#domain/Refusal.ts"
import type { AccountStore } from "#domain/ports/AccountStore.ts"
import { Authentication } from "#http/Authentication.ts"
import type { ProviderSignIn } from "#http/ProviderSignIn.ts"
import { Sessions } from "#http/Sessions.ts"
import { field, formTag, hidden, submit } from "./Forms.ts"
import { html } from "./Html.ts"
import { type Action, action, goTo, type Page, publicAction, publicPage } from "./Page.ts"
import { outsideSignInActions, outsideSignInPages, outsideWays } from "./OutsideSignIn.ts"
import { ownPage } from "./OwnPage.ts"
import { signInPath } from "./Problems.ts"

/** Maximum characters of a login and of a secret in the form. */
const maxLength = 1024

const signInPage = publicPage(
  signInPath,
  Effect.fnUntraced(function*(call) {
    const { query, sent } = call
    const next = (sent ?? query).all("next")[0]
    return {
      title: "Sign in",
      body: html`<div class="card narrow">${yield* outsideWays(call, next)}${
        formTag(
          signInPath,
          undefined,
          html`${
            field(
              "login",
              "Login",
              { required: true, autocomplete: "username", maxlength: maxLength, autofocus: true },
              sent
            )
          }${
            field("secret", "Password or token", {
              type: "password",
              required: true,
              autocomplete: "current-password",
              maxlength: maxLength,
              hint: "A token signs in with its own rights, and the password with all of them."
            })
          }${next === undefined ? undefined : hidden("next", next)}${submit("Sign in")}`
        )
      }</div>`
    }
  })
)

const signIn = publicAction(
  signInPath,
  Effect.fnUntraced(function*(form, { request }) {
    const login = form.all("login")[0] ?? ""
    const secret = form.all("secret")[0] ?? ""
    if (login === "") return yield* badParameter("login", "Please enter your login.")
    if (secret === "") return yield* badParameter("secret", "Please enter your password, or a token of yours.")
    const authentication = yield* Authentication
    const caller = yield* authentication.authenticateLogin(request, { login, secret: Redacted.make(secret) }).pipe(
      Effect.mapError((refusal) => refusal.reason._tag === "Unauthenticated" ? wrongSecret : refusal)
    )
    const cookie = yield* Sessions.use((sessions) => sessions.signIn(request, caller))
    return { ...goTo(ownPage(form.all("next")[0])), cookie }
  })
)

const wrongSecret = refuse(
  new Unauthenticated({
    message: "The login, token or password is wrong. An operator can set a new password."
  })
)

const signOut = action(
  "/dashboard/sign-out",
  "session",
  Effect.fnUntraced(function*(_form, { request }) {
    return { ...goTo(signInPath), cookie: yield* Sessions.use((sessions) => sessions.signOut(request)) }
  })
)

export const signInPages: ReadonlyArray<Page<ProviderSignIn | Sessions>> = [signInPage, ...outsideSignInPages]
export const signInActions: ReadonlyArray<Action<AccountStore | Authentication | Sessions>> = [
  signIn,
  signOut,
  ...outsideSignInActions
]
