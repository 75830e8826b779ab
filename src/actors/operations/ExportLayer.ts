import { Effect, Layer, Option, Stream } from "effect"
import { type Caller, rights } from "#domain/Account.ts"
import { toPlainText } from "#domain/render/PlainText.ts"
import { renderEntryJson } from "#domain/render/NotificationJson.ts"
import { getPermalink } from "#domain/feed/Feed.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { EntryStore } from "#domain/ports/EntryStore.ts"
import { type ExportPosition, type SubscriptionItem, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Refusal } from "#domain/Refusal.ts"
import { exportVersion } from "#domain/transfer/JsonItem.ts"
import {
  type ExportedSubscription,
  folderEnd,
  lineOf,
  opmlHead,
  opmlTail,
  renderFolder,
  renderOutline
} from "#domain/transfer/RenderExport.ts"
import { maskCredentials } from "#domain/UrlCredentials.ts"
import { Export, type ExportRequest } from "./Export.ts"
import { makeMayRead } from "./ParseTopic.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Subscriptions of one statement. */
const pageSize = 200

/** Entries of one statement. */
const entryPageSize = 50

/** Characters of a title in an outline, at most. */
const maxTitleLength = 500

type Exported = Pick<SubscriptionItem, "subscription" | "resource">

export const layer = Layer.effect(
  Export,
  Effect.gen(function*() {
    const pages = yield* makePages
    const tokenLines = yield* makeTokenLines
    const entryLines = yield* makeEntryLines
    return Export.of({
      start: Effect.fn("Export.start")((request) =>
        Effect.succeed(
          request.format === "opml"
            ? renderOpml(pages(request.caller), request.caller)
            : renderLines(request, pages(request.caller), tokenLines(request.caller), entryLines(request))
        )
      )
    })
  })
)

/** The subscriptions of an account, page by page, in the order of `exportPage`. */
const makePages = Effect.map(
  SubscriptionStore,
  (store) => (caller: Caller): Stream.Stream<ReadonlyArray<Exported>, Refusal> =>
    Stream.paginate(
      undefined as ExportPosition | undefined,
      (after) =>
        Effect.map(refuseStoreErrors(store.exportPage(caller.account.id, after, pageSize)), (page) => {
          const last = page.at(-1)?.subscription
          return [[page], last === undefined ? Option.none() : Option.some(positionOf(last))] as const
        })
    )
)

const positionOf = ({ id, labels: [folder] = [] }: Exported["subscription"]): ExportPosition =>
  folder === undefined ? { id } : { id, folder }

const jsonLine = (value: object): string => `${JSON.stringify(value)}\n`

const renderLines = (
  { caller, hasSecrets }: ExportRequest,
  pages: Stream.Stream<ReadonlyArray<Exported>, Refusal>,
  tokens: Stream.Stream<string, Refusal>,
  entriesOf: (page: ReadonlyArray<Exported>) => Stream.Stream<string, Refusal>
): Stream.Stream<string, Refusal> => {
  const { jid, login } = caller.account
  let subscriptions = 0
  const head = jsonLine({ type: "export", service: "windhover", version: exportVersion }) +
    jsonLine({ type: "account", login, ...(jid !== undefined && { jid }) })
  const lines = (page: ReadonlyArray<Exported>) => {
    subscriptions += page.length
    const text = page.map(({ subscription }) => jsonLine(lineOf(subscription, hasSecrets))).join("")
    return Stream.concat(Stream.succeed(text), entriesOf(page))
  }
  return Stream.succeed(head).pipe(
    Stream.concat(tokens),
    Stream.concat(Stream.flatMap(pages, lines)),
    Stream.concat(Stream.suspend(() => Stream.succeed(jsonLine({ type: "end", subscriptions }))))
  )
}

/** Names and rights of tokens, for a credential that has all rights of subscribers itself. */
const makeTokenLines = Effect.map(
  AccountStore,
  (store) => (caller: Caller): Stream.Stream<string, Refusal> =>
    rights.every((right) => caller.rights.has(right))
      ? Stream.fromEffect(Effect.map(
        refuseStoreErrors(store.listTokens(caller.account.id)),
        (tokens) => tokens.map(({ name, rights }) => jsonLine({ type: "token", name, rights })).join("")
      ))
      : Stream.empty
)

/** The entries of feeds behind their first subscription, newest first. */
const makeEntryLines = Effect.gen(function*() {
  const store = yield* EntryStore
  const mayRead = yield* makeMayRead

  const entriesOf = ({ resource, subscription }: Exported) => {
    const topic = maskCredentials(subscription.topic)
    return Stream.paginate(undefined as string | undefined, (before) =>
      Effect.map(
        refuseStoreErrors(
          store.page({ resourceIds: [resource.id], count: entryPageSize, ...(before !== undefined && { before }) })
        ),
        (page) => {
          const entries = page._tag === "Page" ? page.entries : [] // the entry before was deleted meanwhile
          const text = entries.map(({ entry }) =>
            `{"type":"entry","topic":${JSON.stringify(topic)},"entry":${renderEntryJson(entry)}}\n`
          ).join("")
          return [[text], Option.fromNullishOr(entries.at(-1)?.entry.id)] as const
        }
      ))
  }

  return ({ caller, hasEntries }: ExportRequest) => {
    const seen = new Set<number>()
    return (page: ReadonlyArray<Exported>): Stream.Stream<string, Refusal> => {
      if (!hasEntries) return Stream.empty
      const feeds = page.filter(({ resource, subscription }) =>
        resource.kind === "feed" && mayRead(caller, subscription) && !seen.has(resource.id) && seen.add(resource.id)
      )
      return Stream.flatMap(Stream.fromIterable(feeds), entriesOf)
    }
  }
})

const renderOpml = (
  pages: Stream.Stream<ReadonlyArray<Exported>, Refusal>,
  { account }: Caller
): Stream.Stream<string, Refusal> => {
  let folder: string | undefined
  const outlines = (page: ReadonlyArray<Exported>): string =>
    page.map((exported) => {
      const first = exported.subscription.labels?.[0]
      const before = first === folder ? "" : `${folder === undefined ? "" : folderEnd}${renderFolder(first ?? "")}`
      folder = first
      return before + renderOutline(outlineOf(exported))
    }).join("")
  return Stream.succeed(opmlHead(`Subscriptions of ${account.login}`)).pipe(
    Stream.concat(Stream.map(pages, outlines)),
    Stream.concat(Stream.suspend(() => Stream.succeed(`${folder === undefined ? "" : folderEnd}${opmlTail}`)))
  )
}

const outlineOf = ({ resource: { header }, subscription }: Exported): ExportedSubscription => {
  const title = header?.title === undefined ? undefined : toPlainText(header.title).slice(0, maxTitleLength)
  const page = header === undefined ? undefined : getPermalink(header)
  return {
    line: lineOf(subscription, false),
    ...(title !== undefined && { title }),
    ...(page !== undefined && { page })
  }
}
