import { Config, Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import { outcomes } from "#domain/delivery/DeliveryLogEntry.ts"
import { failureReasons } from "#domain/delivery/FailureReason.ts"
import { attemptText } from "#domain/delivery/Notification.ts"
import { parseRfc3339 } from "#domain/Rfc3339.ts"
import { limit, loginFilter, shorten } from "./Activity.ts"
import { Administration, type AdministrationError, type DeliveryFilter } from "./Administration.ts"
import * as AdministrationAccess from "./AdministrationAccess.ts"
import { AttemptPage } from "./Delivery.ts"
import { print } from "./Output.ts"
import {
  callManagementApi,
  checkUrl,
  decodeAnswer,
  givenFlags,
  readPages,
  RemoteError,
  type RemoteService
} from "./RemoteService.ts"
import { renderTable, renderTime } from "./Table.ts"

/** Parses a time, or the beginning of a day in UTC. */
const parseTime = (text: string): number | undefined =>
  parseRfc3339(/^[\d-]{10}$/.test(text) ? `${text}T00:00:00Z` : text)

const timeFlag = (name: string, description: string) =>
  Flag.String(name).pipe(
    Flag.filterMap(
      (text) => Option.fromUndefinedOr(parseTime(text)),
      () => "a time such as 2026-01-31 or 2026-01-31T09:30:00Z"
    ),
    Flag.withDescription(description),
    Flag.optional
  )

const filterFlags = {
  subscription: Flag.Int("subscription").pipe(Flag.withDescription("Id of the subscription"), Flag.optional),
  host: Flag.String("host").pipe(Flag.withDescription("Host of the callback, or domain of the JID"), Flag.optional),
  topic: Flag.String("topic").pipe(Flag.withDescription("URL of the feed or other resource"), Flag.optional),
  outcome: Flag.Literals("outcome", outcomes).pipe(Flag.withDescription("Outcome of the attempt"), Flag.optional),
  reason: Flag.Literals("reason", failureReasons).pipe(Flag.withDescription("Reason of the failure"), Flag.optional),
  code: Flag.Int("code").pipe(
    Flag.filter((code) => code >= 0 && code <= 999, () => "a whole number from 0 to 999"),
    Flag.withDescription("HTTP status; 0 for attempts without one"),
    Flag.optional
  ),
  from: timeFlag("from", "Time of the earliest attempt"),
  to: timeFlag("to", "Time before which the attempt was"),
  after: Flag.String("after").pipe(Flag.withDescription("Position that the page before has named"), Flag.optional)
}

type Flags = { readonly [name in keyof typeof filterFlags]: Option.Option<string | number> }

const readFilter = ({ from, host, subscription, to, ...others }: Flags): DeliveryFilter => ({
  ...givenFlags(others),
  ...(Option.isSome(subscription) && { subscriptionId: Number(subscription.value) }),
  ...(Option.isSome(host) && { host: String(host.value).toLowerCase() }),
  ...(Option.isSome(from) && { from: Number(from.value) }),
  ...(Option.isSome(to) && { to: Number(to.value) })
})

/** The fields of a row. A subscription that its callback did not confirm has no sequence. */
interface Row {
  readonly id: string
  readonly triedAt: number
  readonly outcome: string
  readonly attempt?: number
  readonly code?: number
  readonly reason?: string
  readonly latency?: number
  readonly bytes?: number
  readonly message: string
  readonly answer?: string
  readonly sequence?: number
  readonly subscriptionId?: number
  readonly nextTry?: number
  readonly endpoint: string
  readonly topic: string
}

const renderRow = (row: Row): ReadonlyArray<string> => [
  renderTime(row.triedAt),
  String(row.attempt || ""),
  row.outcome === "failed" && row.nextTry !== undefined ? renderTime(row.nextTry) : row.outcome,
  String(row.code || ""),
  row.reason ?? "",
  row.latency === undefined ? "" : `${row.latency} ms`,
  String(row.bytes ?? ""),
  shorten(attemptText({ ...row, code: row.code ?? 0 })),
  row.sequence === undefined ? "" : `${row.sequence} of subscription ${row.subscriptionId}`,
  row.endpoint,
  row.topic,
  row.id
]

const headings = [
  "TIME",
  "TRY",
  "NEXT",
  "CODE",
  "REASON",
  "TOOK",
  "BYTES",
  "ANSWER",
  "NOTIFICATION",
  "CALLBACK",
  "TOPIC",
  "ID"
]

interface Page {
  readonly items: ReadonlyArray<Row>
  readonly next?: string
}

/** Asks a running service for the attempts of one account. */
const readRemotePages = Effect.fnUntraced(
  function*(service: RemoteService, { after, from, to, ...filter }: Flags, limit: number) {
    const asked = givenFlags({ ...filter, from: Option.map(from, isoOf), to: Option.map(to, isoOf) })
    const { next, rows } = yield* readPages(
      limit,
      Option.getOrUndefined(Option.map(after, String)),
      (page) =>
        callManagementApi(service, "GET", "/api/deliveries", { ...asked, ...page }).pipe(
          Effect.flatMap(decodeAnswer(AttemptPage)),
          Effect.map(({ deliveries, next }) => ({ rows: deliveries.map(rowOf), next }))
        )
    )
    return { items: rows, ...(next !== undefined && { next }) } satisfies Page
  }
)

const isoOf = (time: string | number): string => new Date(Number(time)).toISOString()

const rowOf = (
  { callback, milliseconds, nextTry, subscription, time, ...others }: typeof AttemptPage.Type["deliveries"][number]
): Row => ({
  ...others,
  endpoint: callback,
  triedAt: Date.parse(time),
  ...(subscription !== undefined && { subscriptionId: subscription }),
  ...(milliseconds !== undefined && { latency: milliseconds }),
  ...(nextTry !== undefined && { nextTry: Date.parse(nextTry) })
})

const readLocalPage = (
  login: Option.Option<string>,
  flags: Flags,
  limit: number
): Effect.Effect<Page, AdministrationError, Administration> =>
  Administration.use((administration) =>
    administration.deliveries(Option.getOrUndefined(login), readFilter(flags), limit)
  )

export const deliveries = Command.make(
  "deliveries",
  {
    login: loginFilter("Login of the account that owns the subscriptions (default: all accounts; with --url: admin)"),
    limit,
    url: Flag.String("url").pipe(
      checkUrl,
      Flag.withDescription("URL of a running service; without a URL, the command reads the database of this machine"),
      Flag.optional
    ),
    token: Flag.String("token").pipe(
      Flag.withDescription("Token or password of the account, with --url; also WINDHOVER_TOKEN"),
      Flag.withFallbackConfig(Config.String("WINDHOVER_TOKEN")),
      Flag.optional
    ),
    ...filterFlags
  },
  Effect.fnUntraced(function*({ limit, login, token, url, ...flags }) {
    const { items, next } = yield* Option.isSome(url)
      ? readRemotePages(yield* serviceOf(url.value, login, token), flags, limit)
      : Effect.provide(readLocalPage(login, flags, limit), AdministrationAccess.layer)
    yield* print(renderTable([headings, ...items.map(renderRow)]))
    if (next !== undefined) yield* print(`Older ones: --after ${next}`)
  })
).pipe(
  Command.withDescription(
    "List recent deliveries, newest first: failed attempts with the time of the next one, the last successes, ended and denied subscriptions"
  )
)

const serviceOf = Effect.fnUntraced(
  function*(url: string, login: Option.Option<string>, token: Option.Option<string>) {
    if (Option.isNone(token)) return yield* new RemoteError({ message: "--url needs --token, or WINDHOVER_TOKEN." })
    const fallback = yield* Config.String("WINDHOVER_LOGIN").pipe(Config.withDefault("admin"))
    return { url, login: Option.getOrElse(login, () => fallback), token: token.value }
  }
)
