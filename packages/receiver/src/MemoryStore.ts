import type { Store, SubscriptionState } from "./Store.ts"

/** Keeps the state in memory, of the `maxSubscriptions` latest subscriptions. A restart forgets it. */
export class MemoryStore implements Store {
  private readonly states = new Map<string, SubscriptionState>()
  private readonly maxSubscriptions: number

  constructor({ maxSubscriptions = 10_000 }: { readonly maxSubscriptions?: number } = {}) {
    this.maxSubscriptions = maxSubscriptions
  }

  async load(key: string): Promise<SubscriptionState | undefined> {
    return this.states.get(key)
  }

  async save(key: string, state: SubscriptionState): Promise<void> {
    this.states.delete(key)
    this.states.set(key, state)
    if (this.states.size <= this.maxSubscriptions) return
    const [oldest] = this.states.keys()
    if (oldest !== undefined) this.states.delete(oldest)
  }
}
