import { Effect, Redacted } from "effect"
import { badParameter } from "#domain/Refusal.ts"
import { Authentication } from "#http/Authentication.ts"
import { Sessions } from "#http/Sessions.ts"
import { field, formTag, hidden, submit } from "./Forms.ts"
import { html } from "./Html.ts"
import { type Action, action, goTo, type Page, publicAction, publicPage } from "./Page.ts"
import { signInPath } from "./Problems.ts"

/** Maximum characters of a login and of a secret in the form. */
const maxLength = 1024

/** A page of the dashboard, and no address of another site. A header holds ASCII alone. */
const isOwnPage = (path: string): boolean => /^\/dashboard(?:[/?][!-~]*)?$/.test(path) && !/\\|\/\//.test(path)

const signInPage = publicPage(signInPath, ({ query, sent }) =>
  Effect.sync(() => {
    const next = (sent ?? query).all("next")[0]
    return {
      title: "Sign in",
      body: html`<div class="card narrow">${
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
  }))

const signIn = publicAction(
  signInPath,
  Effect.fnUntraced(function*(form, { request }) {
    const login = form.all("login")[0] ?? ""
    const secret = form.all("secret")[0] ?? ""
    if (login === "") return yield* badParameter("login", "Please enter your login.")
    if (secret === "") return yield* badParameter("secret", "Please enter your password, or a token of yours.")
    const authentication = yield* Authentication
    const caller = yield* authentication.authenticateLogin(request, { login, secret: Redacted.make(secret) })
    const cookie = yield* Sessions.use((sessions) => sessions.signIn(request, caller))
    const next = form.all("next")[0] ?? ""
    return { ...goTo(isOwnPage(next) ? next : "/dashboard"), cookie }
  })
)

const signOut = action(
  "/dashboard/sign-out",
  "session",
  Effect.fnUntraced(function*(_form, { request }) {
    return { ...goTo(signInPath), cookie: yield* Sessions.use((sessions) => sessions.signOut(request)) }
  })
)

export const signInPages: ReadonlyArray<Page<never>> = [signInPage]
export const signInActions: ReadonlyArray<Action<Authentication | Sessions>> = [signIn, signOut]
