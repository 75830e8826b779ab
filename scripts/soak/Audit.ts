import { type Feed, placeholder } from "./Feed.ts"
import type { Accepted } from "./Receivers.ts"

/** Result of the comparison of published and accepted entries, over all subscriptions. */
export interface Audit {
  readonly expected: number
  /** Entries that no accepted notification held. */
  readonly lost: number
  /** Entries in notifications with different ids: told twice. */
  readonly repeated: number
  /** Notifications accepted again with the same id near a kill, as "at least once" allows. */
  readonly resentNearKills: number
  /** The same far from each kill: a confirmation was not understood. */
  readonly resent: number
  readonly gaps: number
  readonly outOfOrder: number
  readonly placeholders: number
  /** Entries that no feed has published. */
  readonly invented: number
  readonly examples: ReadonlyArray<string>
}

/** Time around a kill in which a notification may be sent again, in ms: the service restarts, and the retries follow. */
const killWindowMs = 60_000

const maxExamples = 20

/** Compares what the feeds published with what each subscription accepted. The first `skipped` entries were there before. */
export const audit = (
  feeds: ReadonlyArray<Feed>,
  subscriptions: number,
  accepted: ReadonlyMap<string, ReadonlyArray<Accepted>>,
  kills: ReadonlyArray<number>,
  skipped: number
): Audit => {
  const counts = {
    expected: 0,
    lost: 0,
    repeated: 0,
    resentNearKills: 0,
    resent: 0,
    gaps: 0,
    outOfOrder: 0,
    placeholders: 0,
    invented: 0
  }
  const examples: Array<string> = []
  const note = (kind: keyof typeof counts, text: string) => {
    counts[kind]++
    if (examples.length < maxExamples) examples.push(`${kind}: ${text}`)
  }
  for (const feed of feeds) {
    const wanted = new Set(feed.ids.slice(skipped))
    for (let subscription = 0; subscription < subscriptions; subscription++) {
      const key = `${feed.number}/${subscription}`
      const told = new Map<string, string>()
      const notifications = new Set<string>()
      let last = 0
      for (const { at, ids, notification, sequence } of accepted.get(key) ?? []) {
        if (notifications.has(notification)) {
          if (kills.some((kill) => Math.abs(kill - at) < killWindowMs)) counts.resentNearKills++
          else note("resent", `${key} ${notification} (${feed.format})`)
          continue
        }
        notifications.add(notification)
        if (sequence < last) note("outOfOrder", `${key} ${sequence} after ${last}`)
        else if (sequence > last + 1) note("gaps", `${key} ${last} to ${sequence}`)
        last = Math.max(last, sequence)
        for (const id of ids) {
          if (id === placeholder) counts.placeholders++
          else if (told.has(id)) {
            note("repeated", `${key} ${id} in ${told.get(id)} and ${notification} (${feed.format})`)
          } else if (!wanted.has(id)) note("invented", `${key} ${id} (${feed.format})`)
          told.set(id, notification)
        }
      }
      counts.expected += wanted.size
      for (const id of wanted) if (!told.has(id)) note("lost", `${key} ${id} (${feed.format})`)
    }
  }
  return { ...counts, examples }
}

/** True when each entry of each feed was told once to each subscription. */
export const isFlawless = ({ gaps, invented, lost, outOfOrder, repeated, resent }: Audit): boolean =>
  gaps + invented + lost + outOfOrder + repeated + resent === 0
