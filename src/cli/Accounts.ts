import { Config, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { maxMaxSubscriptions, rights, tokenRights } from "#domain/Account.ts"
import { type AccountView, Administration } from "./Administration.ts"
import * as AdministrationAccess from "./AdministrationAccess.ts"
import { renderDate, renderTable } from "./Table.ts"
import { print } from "./Output.ts"

const login = Argument.String("login").pipe(Argument.withDescription("Login of the account"))

const password = Flag.String("password").pipe(
  Flag.withDescription(
    "Password of at least 8 characters. Set WINDHOVER_PASSWORD instead to keep it out of the shell's history"
  ),
  Flag.withFallbackConfig(Config.String("WINDHOVER_PASSWORD"))
)

const createAccount = Command.make(
  "create",
  {
    login,
    password,
    admin: Flag.Boolean("admin").pipe(
      Flag.withDescription(
        "Make it an operator's account, with the events of all accounts. The first account always is one"
      ),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function*({ admin, login, password }) {
    const administration = yield* Administration
    const account = yield* administration.createAccount(login, password, admin)
    yield* print(`The account ${account.login} was made${account.admin === true ? ", for an operator" : ""}.`)
  })
).pipe(Command.withDescription("Create an account"), Command.provide(AdministrationAccess.layer))

/** Accounts of one answer. */
const pageSize = 1_000

const readAccounts = Effect.fnUntraced(function*({ accounts }: Administration["Service"]) {
  const all: Array<typeof AccountView.Type> = []
  let after: number | undefined
  do {
    const { items, next } = yield* accounts(after, pageSize)
    all.push(...items)
    after = next
  } while (after !== undefined)
  return all
})

const listAccounts = Command.make(
  "list",
  {},
  Effect.fnUntraced(function*() {
    const accounts = yield* readAccounts(yield* Administration)
    yield* print(renderTable([
      ["LOGIN", "CREDITS", "SINCE", "ADMIN", "DISABLED", "MAX SUBSCRIPTIONS"],
      ...accounts.map(({ admin, createdAt, credits, disabled, login, maxSubscriptions }) => [
        login,
        String(credits),
        renderDate(createdAt),
        admin === true ? "yes" : "",
        disabled === true ? "yes" : "",
        maxSubscriptions === undefined ? "" : String(maxSubscriptions)
      ])
    ]))
  })
).pipe(Command.withDescription("List the accounts"), Command.provide(AdministrationAccess.layer))

const setPassword = Command.make(
  "password",
  { login, password },
  Effect.fnUntraced(function*({ login, password }) {
    yield* (yield* Administration).setPassword(login, password)
    yield* print(`The password of ${login} was changed.`)
  })
).pipe(Command.withDescription("Change the password of an account"), Command.provide(AdministrationAccess.layer))

const setAccount = Command.make(
  "set",
  {
    login,
    jid: Flag.String("jid").pipe(
      Flag.withDescription(
        "XMPP address on a server of your own, or the domain of an external component. An empty value removes it"
      ),
      Flag.optional
    ),
    legacyItemNamespace: Flag.Boolean("legacy-item-namespace").pipe(
      Flag.withDescription(
        "Put the entries of XMPP notifications where old clients look for them (--no-…: where XEP-0060 puts them)"
      ),
      Flag.optional
    ),
    admin: Flag.Boolean("admin").pipe(
      Flag.withDescription("Make it an operator's account (--no-admin: end that)"),
      Flag.optional
    ),
    disabled: Flag.Boolean("disabled").pipe(
      Flag.withDescription("Refuse its credentials; its subscriptions go on (--no-disabled: accept them again)"),
      Flag.optional
    ),
    maxSubscriptions: Flag.String("max-subscriptions").pipe(
      Flag.filterMap(
        (text) =>
          text === "none"
            ? Option.some(null)
            : /^\d{1,8}$/.test(text) && Number(text) <= maxMaxSubscriptions
            ? Option.some(Number(text))
            : Option.none(),
        () => `a whole number from 0 to ${maxMaxSubscriptions}, or none`
      ),
      Flag.withDescription("Maximum of its subscriptions; existing ones stay (none: without a maximum)"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function*({ admin, disabled, jid, legacyItemNamespace, login, maxSubscriptions }) {
    yield* (yield* Administration).changeAccount(login, {
      ...(Option.isNone(jid) ? {} : { jid: jid.value === "" ? null : jid.value }),
      ...(Option.isNone(legacyItemNamespace) ? {} : { legacyItemNamespace: legacyItemNamespace.value }),
      ...(Option.isNone(admin) ? {} : { admin: admin.value }),
      ...(Option.isNone(disabled) ? {} : { disabled: disabled.value }),
      ...(Option.isNone(maxSubscriptions) ? {} : { maxSubscriptions: maxSubscriptions.value })
    })
    yield* print(`The account ${login} was changed.`)
    if (Option.isSome(jid) && jid.value !== "" && !jid.value.includes("@")) {
      yield* print(
        `${jid.value} speaks for it now: its server, or the component of that name, subscribes for all addresses of the domain. Those addresses themselves do not.`
      )
    }
  })
).pipe(Command.withDescription("Change the settings of an account"), Command.provide(AdministrationAccess.layer))

const addCredits = Command.make(
  "credits",
  {
    login,
    credits: Argument.Int("credits").pipe(Argument.withDescription("Credits to add; a negative number takes them back"))
  },
  Effect.fnUntraced(function*({ credits, login }) {
    const balance = yield* (yield* Administration).addCredits(login, credits)
    yield* print(`The account ${login} has ${balance} credits.`)
  })
).pipe(Command.withDescription("Add credits to an account"), Command.provide(AdministrationAccess.layer))

const deleteAccount = Command.make(
  "delete",
  { login },
  Effect.fnUntraced(function*({ login }) {
    yield* (yield* Administration).deleteAccount(login)
    yield* print(`The account ${login} was deleted, with its tokens and events.`)
  })
).pipe(
  Command.withDescription("Delete an account without subscriptions, with its tokens and events"),
  Command.provide(AdministrationAccess.layer)
)

export const account = Command.make("account").pipe(
  Command.withDescription("Manage accounts: create, list, password, set, credits, delete"),
  Command.withSubcommands([createAccount, listAccounts, setPassword, setAccount, addCredits, deleteAccount])
)

const createToken = Command.make(
  "create",
  {
    login,
    name: Flag.String("name").pipe(Flag.withDescription("Purpose of the token"), Flag.withDefault("")),
    rights: Flag.Literals("right", tokenRights).pipe(
      Flag.withDescription("Right of the token. Repeat the flag for several rights (default: all but admin)"),
      Flag.between(0, tokenRights.length)
    )
  },
  Effect.fnUntraced(function*({ login, name, rights: granted }) {
    const administration = yield* Administration
    const { secret, token } = yield* administration.createToken(login, name, granted.length === 0 ? rights : granted)
    yield* print(`Token ${token.id} of ${login} (${token.rights.join(", ")}), shown this once:\n${secret}`)
  })
).pipe(
  Command.withDescription("Create a token: a password for programs, with rights of its own"),
  Command.provide(AdministrationAccess.layer)
)

const listTokens = Command.make(
  "list",
  { login },
  Effect.fnUntraced(function*({ login }) {
    const tokens = yield* (yield* Administration).tokens(login)
    yield* print(renderTable([
      ["ID", "NAME", "SINCE", "LAST USED", "RIGHTS"],
      ...tokens.map(({ createdAt, id, name, rights, usedAt }) => [
        String(id),
        name,
        renderDate(createdAt),
        usedAt === undefined ? "never" : renderDate(usedAt),
        rights.join(", ")
      ])
    ]))
  })
).pipe(Command.withDescription("List the tokens of an account"), Command.provide(AdministrationAccess.layer))

const revokeToken = Command.make(
  "revoke",
  { login, id: Argument.Int("id").pipe(Argument.withDescription("Id of the token, as 'token list' shows it")) },
  Effect.fnUntraced(function*({ id, login }) {
    yield* (yield* Administration).revokeToken(login, id)
    yield* print(`Token ${id} of ${login} was revoked.`)
  })
).pipe(Command.withDescription("Revoke a token"), Command.provide(AdministrationAccess.layer))

export const token = Command.make("token").pipe(
  Command.withDescription("Manage the tokens of an account: create, list, revoke"),
  Command.withSubcommands([createToken, listTokens, revokeToken])
)
