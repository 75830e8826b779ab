import { Console, Effect } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { rights } from "#domain/Account.ts"
import { Administration } from "./Administration.ts"
import * as AdministrationAccess from "./AdministrationAccess.ts"
import { renderDate, renderTable } from "./Table.ts"

const login = Argument.String("login").pipe(Argument.withDescription("Login of the account"))

const createToken = Command.make(
  "create",
  {
    login,
    name: Flag.String("name").pipe(Flag.withDescription("Purpose of the token"), Flag.withDefault("")),
    rights: Flag.Literals("right", rights).pipe(
      Flag.withDescription("Right of the token. Repeat the flag for several rights (default: all)"),
      Flag.between(0, rights.length)
    )
  },
  Effect.fnUntraced(function*({ login, name, rights: granted }) {
    const administration = yield* Administration
    const { secret, token } = yield* administration.createToken(login, name, granted.length === 0 ? rights : granted)
    yield* Console.log(`Token ${token.id} of ${login} (${token.rights.join(", ")}), shown this once:\n${secret}`)
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
    yield* Console.log(renderTable([
      ["ID", "NAME", "SINCE", "RIGHTS"],
      ...tokens.map(({ createdAt, id, name, rights }) => [String(id), name, renderDate(createdAt), rights.join(", ")])
    ]))
  })
).pipe(Command.withDescription("List the tokens of an account"), Command.provide(AdministrationAccess.layer))

const revokeToken = Command.make(
  "revoke",
  { login, id: Argument.Int("id").pipe(Argument.withDescription("Id of the token, as 'token list' shows it")) },
  Effect.fnUntraced(function*({ id, login }) {
    yield* (yield* Administration).revokeToken(login, id)
    yield* Console.log(`Token ${id} of ${login} was revoked.`)
  })
).pipe(Command.withDescription("Revoke a token"), Command.provide(AdministrationAccess.layer))

export const token = Command.make("token").pipe(
  Command.withDescription("Manage the tokens of an account: create, list, revoke"),
  Command.withSubcommands([createToken, listTokens, revokeToken])
)
