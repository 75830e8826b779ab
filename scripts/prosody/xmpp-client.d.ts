/** The part of `@xmpp/client` that the demo and the tests use; the package has no types. */
declare module "@xmpp/client" {
  import type { Element } from "@xmpp/xml"
  import type { EventEmitter } from "node:events"
  import type { Socket } from "node:net"

  interface Credentials {
    readonly username: string
    readonly password: string
  }

  /** Emits `connect`, `stanza` with each received stanza, `disconnect`, and `error`. */
  export interface Client extends EventEmitter {
    readonly socket: Socket | null
    readonly reconnect: { readonly stop: () => void }
    /** Connects, logs in and binds a resource; resolves to the JID. */
    start(): Promise<{ toString(): string }>
    /** Connects the socket, the first step of `start`. */
    connect(service: string): Promise<void>
    /** Opens the stream and starts the login, the second step of `start`. Emits `online` with the JID at its end. */
    open(options: { readonly domain: string }): Promise<void>
    stop(): Promise<unknown>
    write(text: string): Promise<void>
    send(element: Element): Promise<void>
    readonly iqCaller: {
      /** Sends an iq and resolves to its result; rejects at an error. */
      readonly request: (iq: Element) => Promise<Element>
    }
  }

  export const client: (options: {
    readonly service: string
    readonly domain: string
    /** Time for each step of the login, in ms; 2,000 by default. */
    readonly timeout?: number
    readonly credentials: (
      authenticate: (credentials: Credentials, mechanism: string) => Promise<void>
    ) => Promise<void>
  }) => Client

  export const xml: (
    name: string,
    attributes?: Readonly<Record<string, string>>,
    ...children: Array<Element>
  ) => Element
}
