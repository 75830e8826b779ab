import { Effect, Redacted } from "effect"
import { type Caller, isOwner, type Right, type Token, tokenNameProblem, tokenRights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { badParameter, Forbidden, type Refusal, refuse } from "#domain/Refusal.ts"
import { buttonForm, checkboxes, field, formTag, submit } from "./Forms.ts"
import { type Html, html } from "./Html.ts"
import { action, goTo, page, type PageCall, show } from "./Page.ts"
import { ago, code, pager, section, table } from "./Parts.ts"
import { readOptionalId, readText } from "./Read.ts"
import { storeCall } from "./StoreCall.ts"

const path = "/dashboard/tokens"

/** Tokens on one page. */
const pageSize = 100

const meanings: { readonly [R in Right]: string } = {
  subscribe: "subscribe, test, pause, resume",
  unsubscribe: "unsubscribe",
  list: "see subscriptions and deliveries",
  retrieve: "read entries, recover, resend",
  publish: "ping",
  xmpp: "sign in over XMPP",
  admin: "operate the service"
}

/** A token gives itself no longer life, and ends no session of the account: a stolen token locks its owner out of nothing. */
export const requireOwner = ({ caller }: PageCall): Effect.Effect<void, Refusal> =>
  isOwner(caller) ? Effect.void : Effect.fail(needsOwner)

const needsOwner = refuse(
  new Forbidden({
    right: "password",
    message:
      "Tokens, passwords and other sessions are changed by the owner of the account: sign out, and sign in with the password."
  })
)

const tokensPage = page(
  path,
  "session",
  Effect.fnUntraced(function*(call) {
    const { caller, query, sent, viewer } = call
    const cursor = readText(query, "cursor")
    const after = yield* readOptionalId(query, "cursor")
    const found = yield* storeCall(
      AccountStore.use((store) =>
        store.listTokens(caller.account.id, { limit: pageSize + 1, ...(after !== undefined && { after }) })
      )
    )
    const tokens = found.slice(0, pageSize)
    const next = found.length > pageSize ? tokens.at(-1)?.id : undefined
    return {
      title: "Tokens",
      lead:
        html`Passwords for programs, each with rights of its own. A program signs in with the login <code>${caller.account.login}</code> and a token.`,
      body: html`${tokenTable(tokens, call)}${
        pager(path, {}, { cursor, next: next === undefined ? undefined : String(next) })
      }${
        section(
          "New token",
          isOwner(caller)
            ? formTag(
              path,
              viewer,
              html`${
                field("name", "Name", {
                  maxlength: 100,
                  placeholder: "backup script",
                  hint: "For you, to know it again."
                }, sent)
              }${checkboxes("right", "Rights", choices(caller), sent)}${submit("Create token")}`,
              { class: "card", label: "New token" }
            )
            : html`<p class="lead">${needsOwner.message}</p>`
        )
      }`
    }
  })
)

const choices = ({ rights }: Caller) =>
  tokenRights.filter((right) => rights.has(right)).map((right) => ({
    value: right,
    label: `${right}: ${meanings[right]}`,
    checked: right !== "admin"
  }))

const tokenTable = (tokens: ReadonlyArray<Token>, { caller, now, viewer }: PageCall): Html =>
  table(
    "Tokens",
    [
      { title: "Name", cell: ({ id, name }) => html`<bdi>${name === "" ? `Token ${id}` : name}</bdi>` },
      { title: "Rights", cell: ({ rights }) => rights.join(", ") },
      { title: "Created", cell: ({ createdAt }) => ago(createdAt, now) },
      {
        title: "Last used",
        cell: ({ usedAt }) =>
          usedAt === undefined ? html`never` : html`<span title="Exact to an hour.">${ago(usedAt, now)}</span>`
      },
      {
        title: "Actions",
        kind: "actions",
        cell: ({ id, name }) =>
          isOwner(caller)
            ? buttonForm(`${path}/revoke`, viewer, "Revoke", {
              fields: { id },
              danger: true,
              of: name || `token ${id}`
            })
            : undefined
      }
    ],
    tokens,
    html`No token yet. The password signs programs in as well, with all rights.`
  )

const createToken = action(
  path,
  "session",
  Effect.fnUntraced(function*(form, call) {
    yield* requireOwner(call)
    const { account, rights } = call.caller
    const name = (form.all("name")[0] ?? "").trim()
    const problem = tokenNameProblem(name)
    if (problem !== undefined) return yield* badParameter("name", problem)
    const granted = tokenRights.filter((right) => rights.has(right) && form.all("right").includes(right))
    if (granted.length === 0) return yield* badParameter("right", "Please choose at least one right for the token.")
    const { secret, token } = yield* storeCall(
      AccountStore.use((store) => store.createToken({ accountId: account.id, name, rights: granted }))
    )
    return show({
      title: "New token",
      lead: html`Copy it now: it is shown this once. Windhover stores its hash alone.`,
      body: html`${code(Redacted.value(secret))}<p>Rights: ${
        token.rights.join(", ")
      }. <a href="${path}">All tokens</a></p>`
    })
  })
)

const revokeToken = action(
  `${path}/revoke`,
  "session",
  Effect.fnUntraced(function*(form, call) {
    yield* requireOwner(call)
    const id = Number(form.all("id")[0])
    if (!Number.isInteger(id) || id < 1 || id > 2_147_483_647) {
      return yield* badParameter("id", "There is no such token.")
    }
    const revoked = yield* storeCall(AccountStore.use((store) => store.revokeToken(call.caller.account.id, id)))
    return revoked
      ? goTo(path, "The token was revoked. Its programs and sessions are signed out.")
      : goTo(path, "There is no such token any more.", "bad")
  })
)

export const tokenPages = [tokensPage]
export const tokenActions = [createToken, revokeToken]
