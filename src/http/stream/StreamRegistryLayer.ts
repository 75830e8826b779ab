import { Effect, Layer, Schedule } from "effect"
import type { Caller, Right } from "#domain/Account.ts"
import { KeyedCounter } from "#domain/collections/KeyedCounter.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { SessionStore } from "#domain/ports/SessionStore.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { type Refusal, refuseThrottled, refuseUnavailable } from "#domain/Refusal.ts"
import { StreamConnection, StreamRegistry } from "./StreamRegistry.ts"

/** Seconds between two heartbeats of a stream. */
const heartbeatSeconds = 15

/** Interval between permission checks of open streams. */
const permissionCheckInterval = "15 seconds"

export const layer = Layer.effect(
  StreamRegistry,
  Effect.gen(function*() {
    const accounts = yield* AccountStore
    const sessions = yield* SessionStore
    const streams = new StreamTable(yield* Settings)
    yield* Effect.sync(() => streams.sendHeartbeats()).pipe(
      Effect.delay("1 second"),
      Effect.repeat(Schedule.forever),
      Effect.forkScoped
    )
    yield* Effect.andThen(endUnauthorized(streams, accounts), endSignedOut(streams, sessions)).pipe(
      Effect.catchTag(
        "StoreError",
        ({ message: reason }) =>
          Effect.annotateLogs(Effect.logWarning("Permissions of open streams not checked; trying again in 15 s"), {
            reason
          })
      ),
      Effect.delay(permissionCheckInterval),
      Effect.repeat(Schedule.forever),
      Effect.forkScoped
    )
    const enter = (caller: Caller, right?: Right, sessionId?: number) =>
      Effect.suspend(() => streams.add(caller, right, sessionId))
    const leave = (stream: StreamConnection) => streams.remove(stream)
    return StreamRegistry.of({
      enter,
      leave,
      admit: (caller, right, sessionId) =>
        Effect.acquireRelease(enter(caller, right, sessionId), (stream) => Effect.sync(() => leave(stream))),
      close: Effect.sync(() => streams.close()),
      count: () => streams.count
    })
  })
)

/** Ends the streams of revoked tokens, of credentials without the right of the stream, and of old passwords. */
const endUnauthorized = (streams: StreamTable, accounts: AccountStore["Service"]) =>
  Effect.gen(function*() {
    const credentials = streams.credentials()
    if (credentials.length === 0) return
    const rights = yield* accounts.rightsOf(credentials)
    for (const credential of credentials) streams.endOthers(credential, rights.get(credential) ?? new Set())
  })

/** Ends the streams of sessions that a sign-out, their idle time or their age has ended. */
const endSignedOut = (streams: StreamTable, sessions: SessionStore["Service"]) =>
  Effect.gen(function*() {
    const ids = streams.sessions()
    if (ids.length > 0) streams.endSessionsExcept(yield* sessions.findOpen(ids), ids)
  })

/** The open streams by credential and by heartbeat. */
class StreamTable {
  readonly #maxPerAccount: number
  readonly #accounts: KeyedCounter<number>
  readonly #byCredential = new Map<string, Set<StreamConnection>>()
  /** The streams that a session of a browser has opened. */
  readonly #ofSessions = new Set<StreamConnection>()
  /** One timer serves all streams: each second a fifteenth of the streams gets its heartbeat. */
  readonly #wheel = Array.from({ length: heartbeatSeconds }, () => new Set<StreamConnection>())
  #second = 0
  #isClosing = false

  constructor({ maxStreams, maxStreamsPerAccount }: Pick<Settings["Service"], "maxStreams" | "maxStreamsPerAccount">) {
    this.#maxPerAccount = maxStreamsPerAccount
    this.#accounts = new KeyedCounter({ maxPerKey: maxStreamsPerAccount, maxTotal: maxStreams })
  }

  add(
    caller: Caller,
    right: Right | undefined,
    sessionId: number | undefined
  ): Effect.Effect<StreamConnection, Refusal> {
    const { account: { id }, credential } = caller
    const count = this.#accounts.get(id)
    if (!this.#accounts.tryAdd(id)) {
      return Effect.fail(count >= this.#maxPerAccount ? tooManyOfAccount(count) : tooManyStreams)
    }
    const stream = new StreamConnection(caller, right, sessionId)
    if (sessionId !== undefined) this.#ofSessions.add(stream)
    if (this.#isClosing) stream.end()
    this.#currentSlot().add(stream)
    let sameCredential = this.#byCredential.get(credential)
    if (sameCredential === undefined) this.#byCredential.set(credential, sameCredential = new Set())
    sameCredential.add(stream)
    return Effect.succeed(stream)
  }

  remove(stream: StreamConnection): void {
    const { accountId, credential } = stream
    this.#accounts.remove(accountId)
    this.#ofSessions.delete(stream)
    for (const slot of this.#wheel) slot.delete(stream)
    const sameCredential = this.#byCredential.get(credential)
    sameCredential?.delete(stream)
    if (sameCredential?.size === 0) this.#byCredential.delete(credential)
  }

  /** Sends the heartbeats of one second. */
  sendHeartbeats(): void {
    this.#second = (this.#second + 1) % heartbeatSeconds
    for (const stream of this.#currentSlot()) stream.onHeartbeat()
  }

  get count(): number {
    return this.#accounts.total
  }

  credentials(): ReadonlyArray<string> {
    return [...this.#byCredential.keys()]
  }

  /** Ends the streams of a credential whose right is not among `rights`. */
  endOthers(credential: string, rights: ReadonlySet<Right>): void {
    for (const stream of this.#byCredential.get(credential) ?? []) if (!rights.has(stream.right)) stream.end()
  }

  /** Ids of the sessions with streams. */
  sessions(): ReadonlyArray<number> {
    return [...new Set([...this.#ofSessions].flatMap(({ sessionId }) => sessionId === undefined ? [] : [sessionId]))]
  }

  /** Ends the streams of the `checked` sessions that are not `open`. */
  endSessionsExcept(open: ReadonlySet<number>, checked: ReadonlyArray<number>): void {
    const ended = new Set(checked.filter((id) => !open.has(id)))
    if (ended.size === 0) return
    for (const stream of this.#ofSessions) if (ended.has(stream.sessionId ?? 0)) stream.end()
  }

  close(): void {
    this.#isClosing = true
    for (const credential of this.credentials()) this.endOthers(credential, new Set())
  }

  #currentSlot(): Set<StreamConnection> {
    return this.#wheel[this.#second] ?? new Set()
  }
}

const tooManyOfAccount = (count: number) =>
  refuseThrottled(`This account has ${count} open streams and polls, its maximum; close some of them.`, 30)

const tooManyStreams = refuseUnavailable("No more streams can be held open here for the moment. Please try again.", 30)
