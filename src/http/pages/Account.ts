import { Effect, Redacted } from "effect"
import { identitySourceOf, isOwner, isPassword, passwordProblem } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { SessionStore } from "#domain/ports/SessionStore.ts"
import { badParameter } from "#domain/Refusal.ts"
import type { Session } from "#domain/Session.ts"
import { Authentication } from "#http/Authentication.ts"
import { Sessions } from "#http/Sessions.ts"
import { accountsActions, accountsPages } from "./Accounts.ts"
import { buttonForm, field, formTag, submit } from "./Forms.ts"
import { type Html, html } from "./Html.ts"
import { action, goTo, page, type PageCall } from "./Page.ts"
import { ago, count, facts, foreign, section, status, table } from "./Parts.ts"
import { storeCall } from "./StoreCall.ts"
import { requireOwner } from "./Tokens.ts"

const path = "/dashboard/account"

const accountPage = page(
  path,
  "session",
  Effect.fnUntraced(function*(call) {
    const { account, rights } = call.caller
    const sessions = yield* storeCall(SessionStore.use((store) => store.list(account.id)))
    return {
      title: "Account",
      body: html`${
        facts([
          ["Login", account.login],
          [
            "Credits",
            html`<span title="The balance goes down by one per notification, and never blocks.">${
              count(account.credits)
            }</span>`
          ],
          [
            "Subscription limit",
            account.maxSubscriptions === undefined ? undefined : count(account.maxSubscriptions)
          ],
          ["Since", ago(account.createdAt, call.now)],
          ["XMPP address", account.jid === undefined ? undefined : foreign(account.jid)],
          ["Role", account.admin === true ? "operator" : "subscriber"],
          ["Rights of this session", [...rights].join(", ")]
        ])
      }${section("Sessions", sessionTable(sessions, call))}${
        section(
          "Password",
          isOwner(call.caller)
            ? passwordForm(call)
            : html`<p class="lead">This session signed in with a token. The password is changed, and other sessions are ended, with the password.</p>`
        )
      }`
    }
  })
)

const sessionTable = (sessions: ReadonlyArray<Session>, { caller, now, viewer }: PageCall): Html =>
  table(
    "Sessions",
    [
      {
        title: "Browser",
        cell: ({ agent, id }) =>
          html`<div>${describeAgent(agent)}${
            id === viewer.session.id ? html` ${status("good", "this one")}` : undefined
          }</div>`
      },
      { title: "Address", cell: ({ address }) => html`<span class="mono">${address}</span>` },
      {
        title: "Sign-in",
        cell: ({ createdAt, credential }) =>
          html`<div>${ago(createdAt, now)} ${
            waysOfSignIn[identitySourceOf({ credential }) ?? kindOf(credential)]
          }</div>`
      },
      { title: "Last use", cell: ({ usedAt }) => ago(usedAt, now) },
      {
        title: "Actions",
        kind: "actions",
        cell: ({ agent, id }) =>
          id === viewer.session.id || !isOwner(caller)
            ? undefined
            : buttonForm(`${path}/end-session`, viewer, "End", {
              fields: { id },
              of: `session of ${describeAgent(agent)}`
            })
      }
    ],
    sessions,
    html`No session.`
  )

const waysOfSignIn = {
  password: "with the password",
  token: "with a token",
  proxy: "through the proxy",
  provider: "at the identity provider"
}

const kindOf = (credential: string) => isPassword({ credential }) ? "password" as const : "token" as const

/** Browser and system of a User-Agent, or its beginning. */
const describeAgent = (agent: string): string => {
  const browser = /(Firefox|Edg|OPR|Chrome|Safari)\/(\d+)/.exec(agent)
  const system = /(Windows|Android|iPhone|iPad|Mac OS X|Linux)/.exec(agent)?.[1]
  if (browser === null) return agent.slice(0, 40) || "unknown"
  const names: { readonly [name: string]: string } = { Edg: "Edge", OPR: "Opera" }
  return `${names[browser[1] ?? ""] ?? browser[1]} ${browser[2]}${system === undefined ? "" : ` on ${system}`}`
}

const passwordForm = ({ viewer }: PageCall): Html =>
  formTag(
    `${path}/password`,
    viewer,
    html`${
      field("current", "Current password", {
        type: "password",
        required: true,
        autocomplete: "current-password",
        maxlength: 1024
      })
    }${
      field("password", "New password", {
        type: "password",
        required: true,
        autocomplete: "new-password",
        minlength: 8,
        maxlength: 1024,
        hint: "8 characters at least. All other sessions and programs with the old password are signed out."
      })
    }${submit("Change password")}`,
    { class: "card", label: "Password" }
  )

const changePassword = action(
  `${path}/password`,
  "session",
  Effect.fnUntraced(function*(form, call) {
    yield* requireOwner(call)
    const { login } = call.caller.account
    const password = form.all("password")[0] ?? ""
    const problem = passwordProblem(password)
    if (problem !== undefined) return yield* badParameter("password", problem)
    const authentication = yield* Authentication
    const authenticate = (secret: string) =>
      authentication.authenticateLogin(call.request, { login, secret: Redacted.make(secret) })
    const current = yield* authenticate(form.all("current")[0] ?? "")
    if (!isPassword(current)) return yield* badParameter("current", "The current password is wrong.")
    yield* storeCall(AccountStore.use((store) => store.setPassword(login, Redacted.make(password))))
    const cookie = yield* Sessions.use((sessions) =>
      Effect.flatMap(authenticate(password), (caller) => sessions.signIn(call.request, caller))
    )
    return { ...goTo(path), cookie }
  })
)

const endSession = action(
  `${path}/end-session`,
  "session",
  Effect.fnUntraced(function*(form, call) {
    yield* requireOwner(call)
    const { caller } = call
    const id = Number(form.all("id")[0])
    if (!Number.isInteger(id) || id < 1 || id > 2_147_483_647) {
      return yield* badParameter("id", "There is no such session.")
    }
    const ended = yield* storeCall(SessionStore.use((store) => store.end(caller.account.id, id)))
    return goTo(path, ended ? "The session was ended." : "The session has ended already.")
  })
)

/** The pages of one's own account, and of all accounts. */
export const accountPages = [accountPage, ...accountsPages]
export const accountActions = [changePassword, endSession, ...accountsActions]
