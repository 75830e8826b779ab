/** The used part of a third-party subscriber, a package without types. */
declare module "pubsubhubbub" {
  import type { EventEmitter } from "node:events"
  import type { Server } from "node:http"

  export interface Feed {
    readonly topic: string
    readonly hub: string
    readonly feed: Buffer
    readonly headers: Readonly<Record<string, string>>
  }

  export interface Subscriber extends EventEmitter {
    callbackUrl: string
    readonly server: Server
    listen(port: number, host: string): void
    subscribe(topic: string, hub: string, done: (error: Error | null) => void): void
    unsubscribe(topic: string, hub: string, done: (error: Error | null) => void): void
  }

  export const createServer: (options: {
    readonly username?: string
    readonly password?: string
    readonly leaseSeconds?: number
  }) => Subscriber
}
