import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { execFile } from "node:child_process"
import { join } from "node:path"
import { promisify } from "node:util"
import * as Source from "#layers/backup/Source.ts"
import { withSettings } from "#scripts/Environment.ts"
import type { Accepted } from "./Receivers.ts"

/** What receivers have acknowledged until a moment. */
interface Acknowledged {
  /** Number of the last accepted notification, by `FEED/SUBSCRIPTION`. */
  readonly sequences: ReadonlyMap<string, number>
  readonly entries: ReadonlySet<string>
}

const acknowledgedOf = (accepted: ReadonlyMap<string, ReadonlyArray<Accepted>>): Acknowledged => ({
  sequences: new Map(
    Array.from(accepted, ([key, list]) => [key, Math.max(...list.map(({ sequence }) => sequence))] as const)
  ),
  entries: new Set([...accepted.values()].flat().flatMap(({ ids }) => ids).filter((id) => id.startsWith("urn:feed:")))
})

const windhover = (words: ReadonlyArray<string>, settings: Readonly<Record<string, string>>) =>
  promisify(execFile)(join(import.meta.dirname, "../../bin/windhover"), words, { env: withSettings(settings) })

/**
 * Backs up the running service, restores the backup beside it, and returns what the restored database lacks of all that was acknowledged
 * before the backup began.
 */
export const tryBackup = async (
  directory: string,
  accepted: ReadonlyMap<string, ReadonlyArray<Accepted>>,
  subscriptions: number
) => {
  const { entries, sequences } = acknowledgedOf(accepted)
  const began = Date.now()
  const file = join(directory, `backup-${began}`)
  const dataDir = join(directory, `restored-${began}`)
  await windhover(["backup", file], { WINDHOVER_DATA_DIR: join(directory, "data") })
  const seconds = (Date.now() - began) / 1000
  await windhover(["verify", file], {})
  await windhover(["restore", file], { WINDHOVER_DATA_DIR: dataDir })
  const found = await Effect.runPromise(Effect.scoped(Effect.provide(look, Source.layerStopped(dataDir))))
  return {
    seconds,
    subscriptions: found.next.size,
    missing: [
      ...found.next.size === subscriptions ? [] : [`${subscriptions - found.next.size} subscriptions`],
      ...[...sequences].filter(([key, last]) => (found.next.get(key) ?? 0) <= last).map(([key, last]) =>
        `${key}: ${last}`
      ),
      ...[...entries].filter((id) => !found.ids.has(id))
    ]
  }
}

/** The next sequence of each subscription, and the ids of all entries. */
const look = Effect.gen(function*() {
  const sql = yield* SqlClient.SqlClient
  const subscriptions = yield* sql<{ key: string; next: number }>`
    select split_part(endpoint, '/hook/', 2) as key, next_sequence::float8 as next from subscriptions`
  const entries = yield* sql<
    { id: string }
  >`select (regexp_match(body, 'urn:feed:[0-9]+:[0-9]+'))[1] as id from entries`
  return {
    next: new Map(subscriptions.map(({ key, next }) => [key, next])),
    ids: new Set(entries.map(({ id }) => id))
  }
})
