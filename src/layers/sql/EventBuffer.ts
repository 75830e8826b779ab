import { boundTexts, encodeEvent, type Event } from "#domain/Event.ts"
import { EventThrottle, type OmittedEvents, operators } from "#domain/limits/EventThrottle.ts"

/** Events whose owners are looked up at once. */
const maxLookups = 500

/** Maximum of events that wait for their owners, or for the database. */
const maxPending = 10_000
const maxRows = 20_000

interface PendingEvent {
  readonly at: number
  readonly event: Event
}

/** A row of the table. */
export interface EventRow {
  readonly accountId: number
  readonly at: number
  readonly json: string
  /** The event counts only if this account was ever credited: others have no allowance. */
  readonly credited?: number
}

/** Published events on their way to the database. Counts the events without room. */
export class EventBuffer {
  readonly #throttle = new EventThrottle()
  #pending: Array<PendingEvent> = []
  #rows: Array<EventRow> = []
  #dropped = 0

  add(event: Event, at: number): void {
    if (this.#pending.length >= maxPending) this.#dropped++
    else this.#pending.push({ at, event: boundTexts(event) })
  }

  /** Resources of the next events to address. */
  get resources(): ReadonlyArray<number> {
    const ids = this.#pending.slice(0, maxLookups).flatMap(({ event }) => "resourceId" in event ? event.resourceId : [])
    return [...new Set(ids)]
  }

  /** Gives the next events to the logs of their owners. `accountsOf` has the accounts of `resources`. */
  address(accountsOf: ReadonlyMap<number, ReadonlyArray<number>>): void {
    for (const { at, event } of this.#pending.splice(0, maxLookups)) {
      let json: string | undefined
      for (const accountId of [operators, ...ownersOf(event, accountsOf)]) {
        if (!this.#throttle.admit(accountId, event.type, at)) continue
        const credited = event.type === "account.out_of_allowance" ? { credited: event.accountId } : {}
        this.#push({ accountId, at, json: json ??= JSON.stringify(encodeEvent(event)), ...credited })
      }
    }
  }

  /** True while more events wait for their owners. */
  get isPending(): boolean {
    return this.#pending.length > 0
  }

  /** Adds the aggregates of the minutes that have begun before `before` (epoch ms). */
  addOmitted(before: number, now: number): void {
    for (const { accountId, event } of this.#throttle.takeOmitted(before)) this.#push(toRow({ accountId, event }, now))
  }

  /** Takes the next rows to write; `restore` takes rows back that were not written. */
  takeRows(limit: number): ReadonlyArray<EventRow> {
    return this.#rows.splice(0, limit)
  }

  restore(rows: ReadonlyArray<EventRow>): void {
    this.#rows.unshift(...rows)
  }

  /** Number of events without room since the last call. */
  takeDropped(): number {
    const dropped = this.#dropped
    this.#dropped = 0
    return dropped
  }

  #push(row: EventRow): void {
    if (this.#rows.length >= maxRows) this.#dropped++
    else this.#rows.push(row)
  }
}

const toRow = ({ accountId, event }: OmittedEvents, at: number): EventRow => ({
  accountId,
  at,
  json: JSON.stringify(encodeEvent(event))
})

/** The accounts of an event. Events of the hub face, whose account is 0, and of the service itself are the operators' only. */
const ownersOf = (event: Event, accountsOf: ReadonlyMap<number, ReadonlyArray<number>>): ReadonlyArray<number> => {
  if ("resourceId" in event) return accountsOf.get(event.resourceId) ?? []
  return "accountId" in event && event.accountId > operators ? [event.accountId] : []
}
