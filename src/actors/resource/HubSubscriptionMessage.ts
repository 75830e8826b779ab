import type { HubLinks } from "#domain/poll/HubLinks.ts"

/**
 * `Look`: the alarm. `Reload`: its row has changed, or who watches the resource. `Found`: what the resource advertises is something else.
 * `News`: a poll has found what was not pushed. `Pushed`: the hub has pushed.
 */
export type Message =
  | { readonly _tag: "Look" }
  | { readonly _tag: "Reload" }
  | {
    readonly _tag: "Found"
    readonly resource: { readonly id: number; readonly partition: number }
    readonly found: HubLinks
  }
  | { readonly _tag: "News"; readonly count: number }
  | { readonly _tag: "Pushed" }

export const check: Message = { _tag: "Look" }

/** Of messages of a kind that wait the last one counts; news add up, until the hub pushes. */
export const join = (waiting: Array<Message>, message: Message): void => {
  if (message._tag === "Pushed") {
    const others = waiting.filter(({ _tag }) => _tag !== "Pushed" && _tag !== "News")
    return void waiting.splice(0, waiting.length, ...others, message)
  }
  const at = waiting.findIndex(({ _tag }) => _tag === message._tag)
  const known = waiting[at]
  if (known === undefined) return void waiting.push(message)
  waiting[at] = known._tag === "News" && message._tag === "News"
    ? { _tag: "News", count: known.count + message.count }
    : message
}
