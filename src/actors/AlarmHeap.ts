/**
 * A binary heap of alarms: (time, id) pairs, earliest first; equal times in no particular order.
 *
 * Two packed arrays, 16 bytes an alarm, so that a runner keeps a million of them.
 */
export class AlarmHeap {
  #at = new Float64Array(64)
  #ids = new Float64Array(64)
  #size = 0

  get size(): number {
    return this.#size
  }

  /** Time of the earliest alarm, epoch ms. */
  get earliest(): number | undefined {
    return this.#size === 0 ? undefined : this.#at[0]
  }

  /** True when the new alarm is now the earliest one. */
  push(at: number, id: number): boolean {
    if (this.#size === this.#at.length) this.#grow()
    let hole = this.#size++
    while (hole > 0) {
      const parent = (hole - 1) >> 1
      if (this.#time(parent) <= at) break
      this.#move(parent, hole)
      hole = parent
    }
    this.#put(hole, at, id)
    return hole === 0
  }

  /** Takes the earliest alarm when it is due at `now`. */
  popDue(now: number): { readonly at: number; readonly id: number } | undefined {
    if (this.#size === 0 || this.#time(0) > now) return undefined
    const due = { at: this.#time(0), id: this.#id(0) }
    const last = --this.#size
    if (last > 0) this.#sink(this.#time(last), this.#id(last))
    return due
  }

  /** Drops every alarm that is not wanted any more; linear. */
  retain(wanted: (at: number, id: number) => boolean): void {
    const kept: Array<readonly [at: number, id: number]> = []
    for (let i = 0; i < this.#size; i++) {
      if (wanted(this.#time(i), this.#id(i))) kept.push([this.#time(i), this.#id(i)])
    }
    this.#size = 0
    for (const [at, id] of kept) this.push(at, id)
  }

  #sink(at: number, id: number): void {
    let hole = 0
    for (;;) {
      let child = 2 * hole + 1
      if (child >= this.#size) break
      if (child + 1 < this.#size && this.#time(child + 1) < this.#time(child)) child++
      if (this.#time(child) >= at) break
      this.#move(child, hole)
      hole = child
    }
    this.#put(hole, at, id)
  }

  #time(i: number): number {
    return this.#at[i] ?? Infinity
  }

  #id(i: number): number {
    return this.#ids[i] ?? -1
  }

  #move(from: number, to: number): void {
    this.#put(to, this.#time(from), this.#id(from))
  }

  #put(i: number, at: number, id: number): void {
    this.#at[i] = at
    this.#ids[i] = id
  }

  #grow(): void {
    const at = new Float64Array(this.#at.length * 2)
    const ids = new Float64Array(this.#at.length * 2)
    at.set(this.#at)
    ids.set(this.#ids)
    this.#at = at
    this.#ids = ids
  }
}
