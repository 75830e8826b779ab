import { Clock, Effect, Result } from "effect"
import type { Caller } from "#domain/Account.ts"
import { merge } from "#domain/Labels.ts"
import { type ImportedSubscription, type NewSubscription, SubscriptionStore } from "#domain/ports/SubscriptionStore.ts"
import type { Refusal } from "#domain/Refusal.ts"
import { tooManySentence } from "#domain/SubscriptionMaximum.ts"
import type { ListLine } from "#domain/transfer/ListLine.ts"
import { maskCredentials } from "#domain/UrlCredentials.ts"
import { Partitions } from "#actors/cluster/Partitions.ts"
import type { ImportDefaults, LineResult } from "./Import.ts"
import { makeAccountSubscriptions } from "./AccountSubscriptions.ts"
import { makeParseListed } from "./ParseListed.ts"
import { makeRefreshBeforeSubscribe } from "./RefreshBeforeSubscribe.ts"
import { refuseStoreErrors } from "./StoreRefusal.ts"

/** Items that are checked at once: names are resolved, and fragments compiled. */
const checkConcurrency = 48

/** Unwatched resources that are fetched at once before their subscription. */
const refreshConcurrency = 16

/** Owners that are notified at once. */
const notifyConcurrency = 64

/** Attempts to store a batch while other requests use up the maximum of the account. */
const maxSaves = 8

/** Time between two first fetches of new resources, in ms, so that an import does not delay the polls of others. */
const firstFetchSpacingMs = 4

/** Characters of a topic that a result repeats, at most. */
const maxShownLength = 2_048

interface Checked {
  readonly line: number
  readonly topic: string
  readonly wanted: NewSubscription
}

/** Makes the function that subscribes the lines of one batch, in one transaction. The results are in the order of the lines. */
export const makeImportBatch = Effect.gen(function*() {
  const store = yield* SubscriptionStore
  const partitions = yield* Partitions
  const parse = yield* makeParseListed
  const refresh = yield* makeRefreshBeforeSubscribe
  const { findSurplus } = yield* makeAccountSubscriptions
  let nextFirstFetch = 0

  const notify = ({ changed, created, subscription: { id, resourceId } }: ImportedSubscription, partition: number) => {
    if (created) return partitions.reloadResource(partition, resourceId)
    return changed
      ? Effect.andThen(partitions.reloadResource(partition, resourceId), partitions.reloadSubscription(partition, id))
      : Effect.void
  }

  /** Nothing comes between the rows and their owners: an owner without notice would not poll before the next start. */
  const save = Effect.fnUntraced(function*(wanted: ReadonlyArray<NewSubscription>) {
    const start = Math.max(yield* Clock.currentTimeMillis, nextFirstFetch)
    const spaced = wanted.map((one, index) => ({ ...one, firstFetchAt: start + index * firstFetchSpacingMs }))
    const stored = yield* refuseStoreErrors(store.subscribeAll(spaced))
    nextFirstFetch = start + stored.filter(({ createdResource }) => createdResource).length * firstFetchSpacingMs
    yield* Effect.forEach(stored, (one, index) => notify(one, wanted[index]?.partition ?? 0), {
      concurrency: notifyConcurrency,
      discard: true
    })
    return stored
  }, Effect.uninterruptible)

  /** Fetches resources that were watched before, so that their subscribers get no old news. */
  const refreshUnwatched = Effect.fnUntraced(function*(wanted: ReadonlyArray<NewSubscription>) {
    const unwatched = yield* refuseStoreErrors(store.findUnwatched(wanted.map(({ topic }) => topic.canonical)))
    yield* Effect.forEach(wanted.filter(({ topic }) => unwatched.has(topic.canonical)), refresh, {
      concurrency: refreshConcurrency,
      discard: true
    })
  })

  /** Another request may take the room that was found: the next attempt finds the rest. */
  const saveWithRoom = Effect.fnUntraced(
    function*(caller: Caller, all: ReadonlyArray<NewSubscription>) {
      const surplus = new Set((yield* findSurplus(caller, all)).map(nameOf))
      const wanted = all.filter((one) => !surplus.has(nameOf(one)))
      yield* refreshUnwatched(wanted)
      const stored = yield* save(wanted)
      return { byName: new Map(wanted.map((one, index) => [nameOf(one), stored[index]])), surplus }
    },
    Effect.retry({ times: maxSaves - 1, while: ({ reason }) => reason._tag === "BadParameter" })
  )

  return Effect.fnUntraced(function*(
    lines: ReadonlyArray<ListLine>,
    caller: Caller,
    defaults: ImportDefaults
  ): Effect.fn.Return<ReadonlyArray<LineResult>, Refusal> {
    const checked = yield* Effect.forEach(lines, (line) =>
      line._tag === "Item"
        ? Effect.map(
          Effect.result(parse(line.item, caller, defaults)),
          (result) =>
            Result.isSuccess(result)
              ? toChecked(line.line, line.item.topic, result.success)
              : refused(line.line, line.item.topic, result.failure)
        )
        : Effect.succeed(unreadable(line)), { concurrency: checkConcurrency })
    const unique = mergeRepeated(checked.filter((one) => "wanted" in one))
    const { byName, surplus } = yield* saveWithRoom(caller, [...unique.values()])
    const seen = new Set<string>()
    return checked.map((one) => {
      if (!("wanted" in one)) return one
      const name = nameOf(one.wanted)
      if (surplus.has(name)) return refused(one.line, one.topic, tooManySentence(caller.account.maxSubscriptions ?? 0))
      const isFirst = !seen.has(name)
      seen.add(name)
      return resultOf(one, byName.get(name), isFirst)
    })
  })
})

const toChecked = (line: number, topic: string, wanted: NewSubscription): Checked => ({ line, topic, wanted })

const nameOf = ({ endpoint, topic }: NewSubscription): string => `${topic.canonical} ${endpoint}`

/** Joins the labels of repeated lines: readers write a feed once for each of its folders. */
const mergeRepeated = (checked: ReadonlyArray<Checked>): Map<string, NewSubscription> => {
  const unique = new Map<string, NewSubscription>()
  for (const { wanted } of checked) {
    const name = nameOf(wanted)
    const known = unique.get(name)
    unique.set(
      name,
      known === undefined ? wanted : { ...known, labels: merge(known.labels ?? [], wanted.labels ?? []) }
    )
  }
  return unique
}

const shown = (topic: string): string => maskCredentials(topic).slice(0, maxShownLength).toWellFormed()

const refused = (line: number, topic: string | undefined, reason: string): LineResult => ({
  _tag: "Line",
  line,
  ...(topic !== undefined && { topic: shown(topic) }),
  result: "refused",
  reason
})

const unreadable = (line: Exclude<ListLine, { readonly _tag: "Item" }>): LineResult =>
  line._tag === "Skipped"
    ? { _tag: "Line", line: line.line, result: "skipped", reason: line.reason }
    : refused(line.line, "topic" in line ? line.topic : undefined, line.reason)

const resultOf = (
  { line, topic, wanted }: Checked,
  stored: ImportedSubscription | undefined,
  isFirst: boolean
): LineResult => {
  if (stored === undefined) return refused(line, topic, "The subscription ended while it was made. Import it again.")
  const { created, subscription } = stored
  const differs = created ? [] : differencesOf(wanted, subscription)
  return {
    _tag: "Line",
    line,
    topic: shown(topic),
    result: created && isFirst ? "subscribed" : "exists",
    subscription: subscription.id,
    ...(differs.length > 0 && { differs })
  }
}

type Setting = NonNullable<LineResult["differs"]>[number]

const differencesOf = (wanted: NewSubscription, stored: ImportedSubscription["subscription"]): ReadonlyArray<Setting> =>
  settings.filter((name) =>
    name === "state"
      ? wanted.state === "paused" && stored.state !== "paused"
      : wanted[name] !== undefined && wanted[name] !== stored[name]
  )

const settings: ReadonlyArray<Setting> = ["format", "secret", "retry", "state"]
