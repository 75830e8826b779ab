/** Delay of timers from which polls give way to deliveries and the API, in ms. */
const maxLagMs = 4

/** Interval of the samples, in ms. */
export const sampleIntervalMs = 20

/** Factors of the limit after a sample. A late event loop is relieved within some samples, and its limit recovers within a second. */
const shrinkFactor = 0.8
const growFactor = 1.1

/**
 * Number of polls that may run at once: fewer while the event loop is late.
 *
 * A runner with more polls than its processor can do would always have all of them under way. Each turn of its event loop would
 * then serve hundreds of polls before the next step of a delivery or of a request of the API. With fewer polls under way, the same number
 * of polls ends in each second, turns are short, and due polls wait as alarms. Waits for distant servers make no event loop late.
 */
export class SlotLimit {
  /** Used slots from which samples are needed. */
  readonly sampleFrom: number
  readonly #min: number
  readonly #max: number
  #current: number

  /** `min` bounds the loss of polls on a machine whose other programs delay all timers. */
  constructor(min: number, max: number) {
    this.sampleFrom = min < max ? min : Infinity
    this.#min = Math.min(min, max)
    this.#max = max
    this.#current = max
  }

  get current(): number {
    return this.#current
  }

  /** Adapts the limit to the delay of a timer. */
  observe(lagMs: number): void {
    this.#current = lagMs > maxLagMs
      ? Math.max(Math.floor(this.#current * shrinkFactor), this.#min)
      : Math.min(Math.ceil(this.#current * growFactor), this.#max)
  }
}
