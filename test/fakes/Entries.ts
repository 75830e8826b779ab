import { Effect, Option } from "effect"
import { type EntryOrder, type EntryPage, EntryStore, maxPageBytes, type PageQuery } from "#domain/ports/EntryStore.ts"
import { type Arrived, operation, type State } from "./State.ts"

export const make = (state: State): EntryStore["Service"] =>
  EntryStore.of({
    page: Effect.fn("EntryStore.page")((query) => operation(state, () => page(state, query))),
    findById: Effect.fn("EntryStore.findById")((resourceIds, ids) =>
      operation(
        state,
        () => cut(placedEntries(state, resourceIds).filter(({ entry }) => ids.includes(entry.id))).map(stored)
      )
    ),
    document: Effect.fn("EntryStore.document")((resourceId) =>
      operation(state, () => Option.fromNullishOr(state.documents.get(resourceId)))
    )
  })

interface Placed extends Arrived {
  readonly resourceId: number
}

/** All entries of these resources, in page order. */
const placedEntries = (
  state: State,
  resourceIds: ReadonlyArray<number>,
  order?: EntryOrder
): ReadonlyArray<Placed> =>
  [...new Set(resourceIds)].flatMap((resourceId) =>
    [...state.entries.get(resourceId)?.values() ?? []].map((arrived): Placed => ({ ...arrived, resourceId }))
  ).toSorted(order === "stored" ? latestFirst : newestFirst)

const stored = ({ resourceId, entry, firstSeen }: Placed) => ({ resourceId, entry, firstSeen })

export const page = (state: State, query: PageQuery): EntryPage => {
  const placed = placedEntries(state, query.resourceIds, query.order)
  // An id that several of the feeds have stands for its newest entry in `before`, its oldest in `after`: nothing is left out.
  const from = query.before === undefined ? -1 : placed.findIndex(({ entry }) => entry.id === query.before)
  const to = query.after === undefined ? placed.length : placed.findLastIndex(({ entry }) => entry.id === query.after)
  if (query.before !== undefined && from < 0) return { _tag: "UnknownEntry", parameter: "before", id: query.before }
  if (query.after !== undefined && to < 0) return { _tag: "UnknownEntry", parameter: "after", id: query.after }
  const range = placed.slice(from + 1, Math.max(from + 1, to))
  const nearest = query.after !== undefined && query.before === undefined
  return {
    _tag: "Page",
    entries: (nearest
      ? cut(range.slice(-query.count).toReversed()).toReversed()
      : cut(range.slice(0, query.count))).map(stored)
  }
}

/** The first entries, up to the bytes of a page, and the very first in any case. */
const cut = (entries: ReadonlyArray<Placed>): ReadonlyArray<Placed> => {
  let bytes = 0
  const end = entries.findIndex(({ entry }, i) =>
    (bytes += Buffer.byteLength(JSON.stringify(entry))) > maxPageBytes && i > 0
  )
  return end < 0 ? entries : entries.slice(0, end)
}

const newestFirst = (a: Placed, b: Placed): number => placeOf(b) - placeOf(a) || b.arrival - a.arrival

const latestFirst = (a: Placed, b: Placed): number => b.arrival - a.arrival

const placeOf = ({ entry, firstSeen }: Placed): number =>
  Number.isFinite(entry.published) ? entry.published ?? firstSeen : firstSeen
