/** The client of the original service, a package without types; answers are passed on unchanged. */
declare module "superfeedr" {
  import type { EventEmitter } from "node:events"

  type Done = (error: Error | null, result: unknown) => void

  export default class Superfeedr extends EventEmitter {
    constructor(login: string, password: string)
    readonly client: EventEmitter & {
      readonly socket: {
        serializeStanza: (stanza: { toString(): string }, write: (text: string) => void) => void
      }
    }
    subscribe(url: string, done: Done): void
    unsubscribe(url: string, done: Done): void
    retrieve(url: string, done: Done): void
    list(page: number, done: Done): void
  }
}
