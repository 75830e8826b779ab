import { Effect } from "effect"
import { type Account, maxMaxSubscriptions } from "#domain/Account.ts"
import { countOf } from "#domain/Count.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { badParameter } from "#domain/Refusal.ts"
import {
  changeAccount,
  createAccount,
  creditAccount,
  maxCredits,
  removeAccount
} from "#http/management/AccountRoutes.ts"
import { buttonForm, checkboxes, confirmForm, dangerLink, field, formTag, searchForm, submit } from "./Forms.ts"
import { type Html, html } from "./Html.ts"
import { action, goTo, page, type PageCall } from "./Page.ts"
import { ago, count, pager, section, status, table } from "./Parts.ts"
import { readOptionalId, readText } from "./Read.ts"
import { storeCall } from "./StoreCall.ts"

const path = "/dashboard/accounts"

/** Accounts on one page. */
const pageSize = 100

const accountsPage = page(
  path,
  "admin",
  Effect.fnUntraced(function*(call) {
    const search = readText(call.query, "search")
    const cursor = readText(call.query, "cursor")
    const after = yield* readOptionalId(call.query, "cursor")
    const { items, next } = yield* storeCall(AccountStore.use((store) =>
      store.list({
        limit: pageSize,
        ...(search !== undefined && { login: search.trim().toLowerCase() }),
        ...(after !== undefined && { after })
      })
    ))
    return {
      title: "Accounts",
      lead:
        html`Each account has its own subscriptions, tokens and events. The credits go down by one per notification, and never block.`,
      body: html`${
        searchForm(
          path,
          "Search",
          html`${field("search", "Part of a login", { type: "search", value: search, maxlength: 63 })}${
            submit("Search", { quiet: true })
          }`
        )
      }${accountTable(items, call)}${
        pager(path, { search }, { cursor, next: next === undefined ? undefined : String(next) })
      }<div class="columns">${section("New account", newAccount(call))}${section("Credits", creditsForm(call))}${
        section("Limit", limitForm(call))
      }</div>`
    }
  })
)

const accountTable = (accounts: ReadonlyArray<Account>, call: PageCall): Html =>
  table(
    "Accounts",
    [
      { title: "Login", cell: ({ login }) => login },
      {
        title: "State",
        cell: ({ admin, disabled }) =>
          disabled === true ? status("bad", "disabled") : status("good", admin === true ? "operator" : "active")
      },
      { title: "Credits", kind: "number", cell: ({ credits }) => count(credits) },
      {
        title: "Subscription limit",
        kind: "number",
        cell: ({ maxSubscriptions }) => maxSubscriptions === undefined ? "no limit" : count(maxSubscriptions)
      },
      { title: "Since", kind: "number", cell: ({ createdAt }) => ago(createdAt, call.now) },
      { title: "Actions", kind: "actions", cell: (account) => accountActionsOf(account, call) }
    ],
    accounts,
    html`No login has this part. <a href="${path}">All accounts</a>`
  )

const accountActionsOf = ({ disabled, login }: Account, { caller, viewer }: PageCall): Html | undefined =>
  login === caller.account.login ?
    undefined :
    html`${
      buttonForm(`${path}/change`, viewer, disabled === true ? "Enable" : "Disable", {
        fields: { login, disabled: disabled === true ? "no" : "yes" },
        of: login
      })
    } ${dangerLink(`${path}/${encodeURIComponent(login)}/delete`, "Delete", login)}`

const newAccount = ({ sent, viewer }: PageCall): Html =>
  formTag(
    path,
    viewer,
    html`${field("login", "Login", { required: true, maxlength: 63 }, sent)}${
      field("password", "Password", {
        type: "password",
        required: true,
        autocomplete: "new-password",
        minlength: 8,
        maxlength: 1024,
        hint: "8 characters at least."
      })
    }${checkboxes("admin", "Role", [{ value: "yes", label: "operator, with the data of all accounts" }], sent)}${
      submit("Create account")
    }`,
    { class: "card", label: "New account" }
  )

const creditsForm = ({ viewer }: PageCall): Html =>
  formTag(
    `${path}/credits`,
    viewer,
    html`${field("of", "Login of the account", { required: true, maxlength: 63 })}${
      field("credits", "Credits", {
        type: "number",
        required: true,
        min: -maxCredits,
        max: maxCredits,
        hint: "A negative number takes credits back."
      })
    }${submit("Add credits")}`,
    { class: "card", label: "Credits" }
  )

const limitForm = ({ sent, viewer }: PageCall): Html =>
  formTag(
    `${path}/limit`,
    viewer,
    html`${field("limited", "Login of the account", { required: true, maxlength: 63 }, sent)}${
      field("maximum", "Subscription limit", {
        type: "number",
        min: 0,
        max: maxMaxSubscriptions,
        hint: "Empty: no limit. Subscriptions beyond a lower limit stay; further ones are refused."
      }, sent)
    }${submit("Set limit")}`,
    { class: "card", label: "Limit" }
  )

const deletePage = page(`${path}/{login}/delete`, "admin", ({ path: { login = "" }, viewer }) =>
  Effect.succeed({
    title: "Delete account",
    lead:
      html`The account <strong>${login}</strong> is disabled, its subscriptions end, and its tokens, events and credits are deleted. None of this can be taken back.`,
    body: confirmForm(`${path}/delete`, viewer, {
      fields: { login },
      label: `Delete ${login}`,
      keep: { path, label: "Keep the account" }
    })
  }))

const create = action(
  path,
  "admin",
  Effect.fnUntraced(function*(form) {
    const login = (form.all("login")[0] ?? "").trim()
    yield* createAccount(login, form.all("password")[0] ?? "", form.all("admin").includes("yes"))
    return goTo(path, `The account ${login} was created.`)
  })
)

const change = action(
  `${path}/change`,
  "admin",
  Effect.fnUntraced(function*(form, { caller }) {
    const login = form.all("login")[0] ?? ""
    const disabled = form.all("disabled")[0] === "yes"
    yield* changeAccount(caller.account, login, { disabled })
    return goTo(
      path,
      disabled ? `The credentials of ${login} are refused from now on.` : `The account ${login} is enabled.`
    )
  })
)

const credits = action(
  `${path}/credits`,
  "admin",
  Effect.fnUntraced(function*(form) {
    const login = (form.all("of")[0] ?? "").trim()
    const text = (form.all("credits")[0] ?? "").trim()
    const amount = /^-?\d{1,13}$/.test(text) ? Number(text) : Number.NaN
    if (!(Math.abs(amount) <= maxCredits)) {
      return yield* badParameter("credits", `Credits are a whole number from -${maxCredits} to ${maxCredits}.`)
    }
    const balance = yield* creditAccount(login, amount)
    return goTo(path, `The account ${login} has ${count(balance)} credits.`)
  })
)

const limit = action(
  `${path}/limit`,
  "admin",
  Effect.fnUntraced(function*(form, { caller }) {
    const login = (form.all("limited")[0] ?? "").trim()
    const text = (form.all("maximum")[0] ?? "").trim()
    const maximum = text === "" ? null : /^\d{1,8}$/.test(text) ? Number(text) : Number.NaN
    if (maximum !== null && !(maximum <= maxMaxSubscriptions)) {
      return yield* badParameter("maximum", `A limit is a whole number from 0 to ${maxMaxSubscriptions}, or empty.`)
    }
    yield* changeAccount(caller.account, login, { maxSubscriptions: maximum })
    return goTo(
      path,
      maximum === null
        ? `The account ${login} has no limit of subscriptions.`
        : `The account ${login} can have ${countOf(maximum, "subscription")}.`
    )
  })
)

const remove = action(
  `${path}/delete`,
  "admin",
  Effect.fnUntraced(function*(form, { caller }) {
    const login = form.all("login")[0] ?? ""
    const result = yield* removeAccount(caller.account, login)
    return result === "deleted"
      ? goTo(path, `The account ${login} was deleted.`)
      : goTo(
        `${path}/${encodeURIComponent(login)}/delete`,
        "The account is disabled, and has more subscriptions. Go on.",
        "bad"
      )
  })
)

export const accountsPages = [accountsPage, deletePage]
export const accountsActions = [create, change, credits, limit, remove]
