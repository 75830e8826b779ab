/** Marks an unused slot. */
const free = -1

/**
 * One alarm an id, the earliest first: an indexed binary heap in packed arrays, 30 to 50 bytes an alarm.
 *
 * Setting an alarm again moves it, so nothing stale is left behind however often an actor changes its mind. The heap holds slots of an
 * open-addressing table (id to heap position), and the table holds positions: moving an alarm needs no hashing.
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
  #at = new Float64Array(16)
  #slot = new Int32Array(16)
  #ids = new Float64Array(32).fill(free)
  #pos = new Int32Array(32)

  get size(): number {
    return this.#size
  }

  /** When the first alarm rings; undefined when there is none. */
  get next(): number | undefined {
    return this.#size === 0 ? undefined : this.#at[0]
  }

  /** When the alarm of `id` rings; undefined when it has none. */
  of(id: number): number | undefined {
    const slot = this.#find(id)
    return this.#ids[slot] === id ? this.#at[this.#pos[slot] ?? 0] : undefined
  }

  /** Sets or moves the alarm of `id`; true when it is now the first to ring. */
  set(id: number, at: number): boolean {
    const slot = this.#find(id)
    if (this.#ids[slot] === id) return this.#place(this.#pos[slot] ?? 0, at, slot) === 0
    if (this.#size === this.#at.length) {
      this.#grow()
      return this.set(id, at)
    }
    this.#ids[slot] = id
    return this.#place(this.#size++, at, slot) === 0
  }

  /** Takes the alarm of `id` away; false when it had none. */
  clear(id: number): boolean {
    const slot = this.#find(id)
    if (this.#ids[slot] !== id) return false
    this.#take(this.#pos[slot] ?? 0)
    return true
  }

  /** Takes the first alarm that is due at `now`, and gives its id. */
  due(now: number): number | undefined {
    if (this.#size === 0 || get(this.#at, 0) > now) return undefined
    const id = get(this.#ids, get(this.#slot, 0))
    this.#take(0)
    return id
  }

  #take(position: number): void {
    const slot = get(this.#slot, position)
    const last = --this.#size
    if (position < last) this.#place(position, get(this.#at, last), get(this.#slot, last))
    this.#release(slot)
  }

  /** Writes an alarm at a position and sifts it to where it belongs. */
  #place(position: number, at: number, slot: number): number {
    let here = position
    for (let parent = (here - 1) >> 1; here > 0 && get(this.#at, parent) > at; parent = (here - 1) >> 1) {
      this.#move(parent, here)
      here = parent
    }
    for (
      let child = this.#smallerChild(here);
      child > 0 && get(this.#at, child) < at;
      child = this.#smallerChild(here)
    ) {
      this.#move(child, here)
      here = child
    }
    this.#at[here] = at
    this.#slot[here] = slot
    this.#pos[slot] = here
    return here
  }

  /** 0 when there is no child. */
  #smallerChild(position: number): number {
    const left = 2 * position + 1
    if (left >= this.#size) return 0
    return left + 1 < this.#size && get(this.#at, left + 1) < get(this.#at, left) ? left + 1 : left
  }

  #move(from: number, to: number): void {
    const slot = get(this.#slot, from)
    this.#at[to] = get(this.#at, from)
    this.#slot[to] = slot
    this.#pos[slot] = to
  }

  /** The slot of `id`, or the free slot where it would go. */
  #find(id: number): number {
    const mask = this.#ids.length - 1
    let slot = home(id, mask)
    while (get(this.#ids, slot) !== free && get(this.#ids, slot) !== id) slot = (slot + 1) & mask
    return slot
  }

  /** Frees a slot and moves later ones of its run up, so that no tombstones are needed. */
  #release(slot: number): void {
    const mask = this.#ids.length - 1
    let hole = slot
    for (let at = (hole + 1) & mask; get(this.#ids, at) !== free; at = (at + 1) & mask) {
      const distance = (at - home(get(this.#ids, at), mask)) & mask
      if (distance < ((at - hole) & mask)) continue
      this.#ids[hole] = get(this.#ids, at)
      this.#pos[hole] = get(this.#pos, at)
      this.#slot[get(this.#pos, at)] = hole
      hole = at
    }
    this.#ids[hole] = free
  }

  #grow(): void {
    const ids = Float64Array.from(this.#slot, (slot) => get(this.#ids, slot))
    const length = ids.length * 2
    const at = new Float64Array(length)
    at.set(this.#at)
    this.#at = at
    this.#slot = new Int32Array(length)
    this.#ids = new Float64Array(2 * length).fill(free)
    this.#pos = new Int32Array(2 * length)
    for (let position = 0; position < this.#size; position++) {
      const slot = this.#find(get(ids, position))
      this.#ids[slot] = get(ids, position)
      this.#pos[slot] = position
      this.#slot[position] = slot
    }
  }
}

/** Spreads consecutive ids over the table. */
const home = (id: number, mask: number): number => Math.imul(id % 0x7fffffff, 0x9e3779b1) >>> 7 & mask

/** An index that is known to be inside. */
const get = (array: Float64Array | Int32Array, index: number): number => array[index] ?? 0
