import type { HubLinks } from "#domain/poll/HubLinks.ts"

export type Message =
  /** The alarm. */
  | { readonly _tag: "Check" }
  /** The row has changed, or the subscriptions of the resource have. */
  | { readonly _tag: "Reload" }
  /** The resource advertises other hubs, or another topic. */
  | {
    readonly _tag: "LinksChanged"
    readonly resource: { readonly id: number; readonly partition: number }
    readonly links: HubLinks
  }
  /** A poll has found entries that the hub has not pushed. */
  | { readonly _tag: "EntriesPolled"; readonly count: number }
  /** The hub has pushed. */
  | { readonly _tag: "Pushed" }

export const check: Message = { _tag: "Check" }

/** Keeps the last message of each kind. Polled entries add up until the hub pushes. */
export const join = (waiting: Array<Message>, message: Message): void => {
  if (message._tag === "Pushed") {
    const others = waiting.filter(({ _tag }) => _tag !== "Pushed" && _tag !== "EntriesPolled")
    return void waiting.splice(0, waiting.length, ...others, message)
  }
  const at = waiting.findIndex(({ _tag }) => _tag === message._tag)
  const known = waiting[at]
  if (known === undefined) return void waiting.push(message)
  waiting[at] = known._tag === "EntriesPolled" && message._tag === "EntriesPolled"
    ? { _tag: "EntriesPolled", count: known.count + message.count }
    : message
}
