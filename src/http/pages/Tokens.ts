import { Effect, Redacted } from "effect"
import { type Caller, isOwner, type Right, type Token, tokenNameProblem, tokenRights } from "#domain/Account.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { badParameter, Forbidden, type Refusal, refuse } from "#domain/Refusal.ts"
import { checkboxes, confirmForm, dangerLink, field, formTag, submit } from "./Forms.ts"
import { type Html, html } from "./Html.ts"
import { action, goTo, page, type PageCall, show } from "./Page.ts"
import { ago, code, pager, section, table } from "./Parts.ts"
import { readId, readOptionalId, readText } from "./Read.ts"
import { storeCall } from "./StoreCall.ts"

const path = "/dashboard/tokens"

/** Tokens on one page. */
const pageSize = 100

const meanings: { readonly [R in Right]: string } = {
  subscribe: "make, test, pause and resume subscriptions",
  unsubscribe: "end subscriptions",
  list: "see resources, subscriptions and deliveries",
  retrieve: "read entries, recover, resend",
  publish: "ping, and fetch now",
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
                  hint: "Tells you later which program has it."
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

const tokenTable = (tokens: ReadonlyArray<Token>, { caller, now }: PageCall): Html =>
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
            ? dangerLink(`${path}/${id}/revoke`, "Revoke", name || `token ${id}`)
            : undefined
      }
    ],
    tokens,
    html`No token yet. The password signs programs in as well, with all rights.`
  )

/** Warns before a token ends. */
const revokePage = page(
  `${path}/{id}/revoke`,
  "session",
  Effect.fnUntraced(function*(call) {
    yield* requireOwner(call)
    const { caller, path: parts, viewer } = call
    const id = yield* readId(parts["id"])
    const [token] = yield* storeCall(
      AccountStore.use((store) => store.listTokens(caller.account.id, { after: id - 1, limit: 1 }))
    )
    if (token?.id !== id) return yield* badParameter("id", "There is no such token any more.")
    return {
      title: "Revoke token",
      lead: html`<bdi>${token.name === "" ? `Token ${id}` : token.name}</bdi>: ${token.rights.join(", ")}`,
      body:
        html`<p class="diagnosis warn"><span>Programs and sessions with this token are signed out at once. Subscriptions go on. The token cannot be restored.</span></p>${
          confirmForm(`${path}/revoke`, viewer, {
            fields: { id },
            label: "Revoke the token",
            keep: { path, label: "Keep the token" }
          })
        }`
    }
  })
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
      body: html`${
        code(Redacted.value(secret))
      }<p>A program signs in with the login <code>${account.login}</code> and this token. Rights: ${
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

export const tokenPages = [tokensPage, revokePage]
export const tokenActions = [createToken, revokeToken]
