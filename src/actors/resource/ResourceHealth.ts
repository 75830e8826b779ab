import type { ResourceState } from "#domain/poll/Resource.ts"

/** A poll counts as late so many ms after its planned start. */
export const lateAfterMs = 60_000

/** The failing resources of a partition, and the due resources that wait for their host, for the metrics. */
export class ResourceHealth {
  readonly #failing = new Set<number>()
  /** Planned start of the poll, epoch ms. */
  readonly #waiting = new Map<number, number>()

  get failingCount(): number {
    return this.#failing.size
  }

  /** The stored failures of a partition that starts. */
  addFailing(ids: Iterable<number>): void {
    for (const id of ids) this.#failing.add(id)
  }

  /** Notes the result of a poll, or a change of the subscriptions. */
  note({ failures, id, subscribers }: Pick<ResourceState, "failures" | "id" | "subscribers">): void {
    if (failures > 0 && subscribers > 0) this.#failing.add(id)
    else if (this.#failing.size > 0) this.#failing.delete(id)
    if (subscribers === 0) this.noteStart(id)
  }

  /** The resource was due at `dueAt` (epoch ms), and its host is busy. */
  noteWait(id: number, dueAt: number): void {
    this.#waiting.set(id, dueAt)
  }

  noteStart(id: number): void {
    if (this.#waiting.size > 0) this.#waiting.delete(id)
  }

  isWaiting(id: number): boolean {
    return this.#waiting.has(id)
  }

  /** Number of waiting resources that were due before `time` (epoch ms). */
  countWaitingSince(time: number): number {
    let count = 0
    for (const dueAt of this.#waiting.values()) if (dueAt < time) count++
    return count
  }
}
