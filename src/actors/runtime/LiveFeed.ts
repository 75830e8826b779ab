import { Context, Layer } from "effect"
import type { LiveEvent } from "#domain/LiveEvent.ts"

/** Hands the happenings of this runner to the open pages. Without an open page, a producer costs one comparison. */
export class LiveFeed {
  readonly #listeners = new Set<(event: LiveEvent) => void>()

  get isWatched(): boolean {
    return this.#listeners.size > 0
  }

  publish(event: LiveEvent): void {
    for (const listener of this.#listeners) listener(event)
  }

  /** Returns the function that ends the listening. `listener` returns at once and never throws. */
  listen(listener: (event: LiveEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }
}

/** The feed of this runner. */
export const CurrentLiveFeed = Context.Reference<LiveFeed>("windhover/actors/runtime/LiveFeed", {
  defaultValue: () => new LiveFeed()
})

export const layer = Layer.sync(CurrentLiveFeed, () => new LiveFeed())
