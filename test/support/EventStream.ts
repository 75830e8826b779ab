import { Effect, type Scope } from "effect"
import * as http from "node:http"
import { awaitCondition } from "./AwaitCondition.ts"

/** One server-sent event. */
export interface Event {
  readonly name: string
  readonly id: string
  readonly data: string
}

/** Received events and connections of a stream's client. */
export interface StreamClient {
  readonly events: ReadonlyArray<Event>
  /** Number of opened connections, one after the other. */
  readonly connections: number
  /** Resolves when `condition` holds; checked at each event. */
  readonly until: (condition: () => boolean) => Effect.Effect<void>
}

/** Parses one field per line, as a browser does. A comment is not an event. */
const parseEvent = (block: string): Event | undefined => {
  const fields = new Map<string, string>()
  for (const line of block.split("\n")) {
    const colon = line.indexOf(":")
    if (colon < 1) continue
    const name = line.slice(0, colon)
    const value = line.slice(colon + 1).replace(/^ /, "")
    fields.set(name, fields.has(name) ? `${fields.get(name)}\n${value}` : value)
  }
  const data = fields.get("data")
  return data === undefined ? undefined : { name: fields.get("event") ?? "message", id: fields.get("id") ?? "", data }
}

/**
 * Opens a client until the scope ends. Like a browser's EventSource, the client reconnects with its last event id, to each address in turn.
 */
export const openEventStream = (
  addresses: ReadonlyArray<string>,
  path: string,
  authorization: string
): Effect.Effect<StreamClient, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => {
        const events: Array<Event> = []
        const waiting = new Set<() => void>()
        const state = { connections: 0, closed: false, request: undefined as http.ClientRequest | undefined }
        const lastId = () => events.findLast(({ id }) => id !== "")?.id
        const connect = () => {
          if (state.closed) return
          let over = false
          // a reset connection reports errors on both the request and the response
          const again = () => {
            if (!over) setTimeout(connect, 50)
            over = true
          }
          const address = addresses[state.connections++ % addresses.length] ?? ""
          const id = lastId()
          state.request = http.get(`${address}${path}`, {
            agent: false,
            headers: { authorization, accept: "text/event-stream", ...(id !== undefined && { "last-event-id": id }) }
          })
          state.request.on("error", again)
          state.request.on("response", (response) => {
            let text = ""
            response.setEncoding("utf8").on("data", (piece: string) => {
              const blocks = (text + piece).split("\n\n")
              text = blocks.pop() ?? ""
              for (const block of blocks) {
                const event = parseEvent(block)
                if (event !== undefined) events.push(event)
              }
              for (const look of waiting) look()
            })
            response.on("error", () => undefined)
            response.on("close", again)
          })
        }
        connect()
        return { events, state, waiting }
      }),
      ({ state }) =>
        Effect.sync(() => {
          state.closed = true
          state.request?.destroy()
        })
    ),
    ({ events, state, waiting }): StreamClient => ({
      events,
      get connections() {
        return state.connections
      },
      until: awaitCondition(waiting)
    })
  )

/** Ids of all received entries, oldest first. */
export const entryIds = ({ events }: StreamClient): ReadonlyArray<string> =>
  events.flatMap(({ data, name }) => {
    if (name !== "notification") return []
    const { items = [] } = JSON.parse(data) as { readonly items?: ReadonlyArray<{ readonly id: string }> }
    return items.map(({ id }) => id).toReversed()
  })
