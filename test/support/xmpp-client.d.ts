/** `@xmpp/client` ships no types: this is the part of it that tests use. */
declare module "@xmpp/client" {
  import type { Element } from "@xmpp/xml"
  import type { EventEmitter } from "node:events"
  import type { Socket } from "node:net"

  interface Credentials {
    readonly username: string
    readonly password: string
  }

  /** Emits `connect`, `stanza` with each element that comes, `disconnect`, and `error`. */
  export interface Client extends EventEmitter {
    readonly socket: Socket | null
    readonly reconnect: { readonly stop: () => void }
    /** Connects, logs in and binds; resolves to the JID. */
    start(): Promise<{ toString(): string }>
    write(text: string): Promise<void>
  }

  export const client: (options: {
    readonly service: string
    readonly domain: string
    /** Milliseconds for each step of the log-in. */
    readonly timeout: number
    readonly credentials: (
      authenticate: (credentials: Credentials, mechanism: string) => Promise<void>
    ) => Promise<void>
  }) => Client
}
