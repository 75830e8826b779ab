import { Context, type Effect, type Scope } from "effect"
import type { Caller, Right } from "#domain/Account.ts"
import type { Refusal } from "#domain/Refusal.ts"

/** An open stream or long poll. One object each, because ten thousand may be open. */
export class StreamConnection {
  readonly accountId: number
  readonly credential: string
  /** The stream ends when its credential loses this right. */
  readonly right: Right
  /** The stream ends with this session of a browser. */
  readonly sessionId: number | undefined
  /** Called every 15 s. */
  onHeartbeat: () => void = () => {}
  #end: (() => void) | undefined
  #hasEnded = false

  constructor({ account, credential }: Caller, right: Right = "retrieve", sessionId?: number) {
    this.accountId = account.id
    this.credential = credential
    this.right = right
    this.sessionId = sessionId
  }

  /** Called when Windhover stops, the credential loses its right, or the session ends; at once when this has happened before. */
  set onEnd(end: () => void) {
    this.#end = end
    if (this.#hasEnded) end()
  }

  end(): void {
    this.#hasEnded = true
    this.#end?.()
  }
}

/** The open streams and long polls of this runner: their number, heartbeats and end. */
export class StreamRegistry extends Context.Service<StreamRegistry, {
  /**
   * Admits a stream until `leave`, with the right that it needs and the session that opened it, if any. Refuses the stream when the account
   * or the runner has reached its maximum.
   */
  readonly enter: (caller: Caller, right?: Right, sessionId?: number) => Effect.Effect<StreamConnection, Refusal>
  readonly leave: (stream: StreamConnection) => void
  /** Admits a stream for the scope. */
  readonly admit: (
    caller: Caller,
    right?: Right,
    sessionId?: number
  ) => Effect.Effect<StreamConnection, Refusal, Scope.Scope>
  /** Ends all streams, so that a shutdown does not wait for them. */
  readonly close: Effect.Effect<void>
  readonly count: () => number
}>()("windhover/http/stream/StreamRegistry") {}
