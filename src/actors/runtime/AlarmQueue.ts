/** Id of an unused slot. */
const noId = -1

/**
 * Priority queue of alarms, one per id: an indexed binary heap in packed arrays, 30 to 50 bytes per alarm.
 *
 * A second `set` moves the alarm, so that no stale alarm stays behind. The heap holds slots of an open-addressing table from id to heap
 * position, and the table holds the positions: moving an alarm hashes no id.
 *
 * ```
 * heap   at:   [ 10, 30, 20 ]        table   ids: [ -, 7, -, 4, 9, - ]
 *        slot: [  3,  1,  4 ]                pos: [ -, 1, -, 0, 2, - ]
 * ```
 *
 * Ids are non-negative integers, times are epoch milliseconds.
 */
export class AlarmQueue {
  #size = 0
  #times = new Float64Array(16)
  #slots = new Int32Array(16)
  #ids = new Float64Array(32).fill(noId)
  #positions = new Int32Array(32)

  get size(): number {
    return this.#size
  }

  /** Time of the first alarm; undefined when there is none. */
  get next(): number | undefined {
    return this.#size === 0 ? undefined : this.#times[0]
  }

  /** Time of the alarm of `id`; undefined without one. */
  timeOf(id: number): number | undefined {
    const slot = this.#find(id)
    return this.#ids[slot] === id ? this.#times[this.#positions[slot] ?? 0] : undefined
  }

  /** Visits the ids whose alarms are before `time`, in no order. Reads no later alarm than the first ones behind `time`. */
  forEachBefore(time: number, visit: (id: number) => void): void {
    const visitBelow = (position: number): void => {
      if (position >= this.#size || get(this.#times, position) >= time) return
      visit(get(this.#ids, get(this.#slots, position)))
      visitBelow(2 * position + 1)
      visitBelow(2 * position + 2)
    }
    visitBelow(0)
  }

  /** Sets or moves the alarm of `id`. Returns true when this alarm is now the first one. */
  set(id: number, at: number): boolean {
    const slot = this.#find(id)
    if (this.#ids[slot] === id) return this.#place(this.#positions[slot] ?? 0, at, slot) === 0
    if (this.#size === this.#times.length) {
      this.#grow(2 * this.#size)
      return this.set(id, at)
    }
    this.#ids[slot] = id
    return this.#place(this.#size++, at, slot) === 0
  }

  /** Removes the alarm of `id`. Returns false without an alarm. */
  clear(id: number): boolean {
    const slot = this.#find(id)
    if (this.#ids[slot] !== id) return false
    this.#removeAt(this.#positions[slot] ?? 0)
    return true
  }

  /** Removes and returns the first alarm when it is due at `now`. */
  takeDue(now: number): number | undefined {
    if (this.#size === 0 || get(this.#times, 0) > now) return undefined
    const id = get(this.#ids, get(this.#slots, 0))
    this.#removeAt(0)
    return id
  }

  #removeAt(position: number): void {
    const slot = get(this.#slots, position)
    const last = --this.#size
    if (position < last) this.#place(position, get(this.#times, last), get(this.#slots, last))
    this.#release(slot)
  }

  /** Writes an alarm at a position, sifts up or down, and returns the final position. */
  #place(position: number, at: number, slot: number): number {
    let target = position
    for (let parent = (target - 1) >> 1; target > 0 && get(this.#times, parent) > at; parent = (target - 1) >> 1) {
      this.#move(parent, target)
      target = parent
    }
    for (
      let child = this.#smallerChild(target);
      child > 0 && get(this.#times, child) < at;
      child = this.#smallerChild(target)
    ) {
      this.#move(child, target)
      target = child
    }
    this.#times[target] = at
    this.#slots[target] = slot
    this.#positions[slot] = target
    return target
  }

  /** Position of the earlier child; 0 when there is no child. */
  #smallerChild(position: number): number {
    const left = 2 * position + 1
    if (left >= this.#size) return 0
    return left + 1 < this.#size && get(this.#times, left + 1) < get(this.#times, left) ? left + 1 : left
  }

  #move(from: number, to: number): void {
    const slot = get(this.#slots, from)
    this.#times[to] = get(this.#times, from)
    this.#slots[to] = slot
    this.#positions[slot] = to
  }

  /** The slot of `id`, or the free slot for it. */
  #find(id: number): number {
    const mask = this.#ids.length - 1
    let slot = preferredSlot(id, mask)
    while (get(this.#ids, slot) !== noId && get(this.#ids, slot) !== id) slot = (slot + 1) & mask
    return slot
  }

  /** Frees a slot and moves the later slots of its run up, so that the table needs no tombstones. */
  #release(slot: number): void {
    const mask = this.#ids.length - 1
    let hole = slot
    for (let next = (hole + 1) & mask; get(this.#ids, next) !== noId; next = (next + 1) & mask) {
      const distance = (next - preferredSlot(get(this.#ids, next), mask)) & mask
      if (distance < ((next - hole) & mask)) continue
      this.#ids[hole] = get(this.#ids, next)
      this.#positions[hole] = get(this.#positions, next)
      this.#slots[get(this.#positions, next)] = hole
      hole = next
    }
    this.#ids[hole] = noId
  }

  /** Makes room for alarms that are about to be set: growing step by step would place each of them anew several times. */
  reserve(count: number): void {
    const wanted = this.#size + count
    if (wanted > this.#times.length) this.#grow(2 ** Math.ceil(Math.log2(wanted)))
  }

  #grow(length: number): void {
    const ids = Float64Array.from(this.#slots, (slot) => get(this.#ids, slot))
    const times = new Float64Array(length)
    times.set(this.#times)
    this.#times = times
    this.#slots = new Int32Array(length)
    this.#ids = new Float64Array(2 * length).fill(noId)
    this.#positions = new Int32Array(2 * length)
    for (let position = 0; position < this.#size; position++) {
      const slot = this.#find(get(ids, position))
      this.#ids[slot] = get(ids, position)
      this.#positions[slot] = position
      this.#slots[position] = slot
    }
  }
}

/** The preferred slot of an id; consecutive ids spread over the table. */
const preferredSlot = (id: number, mask: number): number => Math.imul(id % 0x7fffffff, 0x9e3779b1) >>> 7 & mask

/** Reads an index that is known to be within bounds. */
const get = (array: Float64Array | Int32Array, index: number): number => array[index] ?? 0
