import { Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { Administration } from "./Administration.ts"
import * as AdministrationAccess from "./AdministrationAccess.ts"
import { renderTable, renderTime } from "./Table.ts"
import { print } from "./Output.ts"

/** Cuts a failure's text to the width of a column. */
export const shorten = (text: string) => text.length > 100 ? `${text.slice(0, 99)}…` : text

const maxLimit = 10_000

export const limit = Flag.Int("limit").pipe(
  Flag.filter(
    (limit) => limit >= 1 && limit <= maxLimit,
    () => `a whole number from 1 to ${maxLimit}`
  ),
  Flag.withDescription(`Maximum of rows, from 1 to ${maxLimit} (default: 50)`),
  Flag.withDefault(50)
)

export const loginFilter = (description: string) =>
  Argument.String("login").pipe(Argument.withDescription(description), Argument.optional)

export const pings = Command.make(
  "pings",
  { login: loginFilter("Login of the account that sent the pings (default: all accounts)"), limit },
  Effect.fnUntraced(function*({ limit, login }) {
    const pings = yield* (yield* Administration).pings(Option.getOrUndefined(login), limit)
    yield* print(renderTable([
      ["RECEIVED", "OUTCOME", "TOPIC"],
      ...pings.map(({ outcome, receivedAt, topic, withContent }) => [
        renderTime(receivedAt),
        shorten(withContent ? `content: ${outcome}` : outcome),
        topic
      ])
    ]))
  })
).pipe(
  Command.withDescription("List publishers' pings and their outcomes, newest first"),
  Command.provide(AdministrationAccess.layer)
)

export const hubs = Command.make(
  "hubs",
  { limit },
  Effect.fnUntraced(function*({ limit }) {
    const hubs = yield* (yield* Administration).hubs(limit)
    yield* print(renderTable([
      ["HUB", "SUBSCRIPTIONS", "PUSHED", "MISSED", "RELIED ON"],
      ...hubs.map(({ hub, missed, pushed, subscriptions, trust }) => [
        hub,
        String(subscriptions),
        String(pushed),
        String(missed),
        trust
      ])
    ]))
  })
).pipe(
  Command.withDescription("List the publishers' hubs that Windhover subscribes to, and their reliability"),
  Command.provide(AdministrationAccess.layer)
)
