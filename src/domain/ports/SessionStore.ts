import { Context, type Effect, type Option } from "effect"
import type { Session } from "#domain/Session.ts"
import type { StoreError } from "./StoreError.ts"

export type NewSession = Pick<Session, "accountId" | "credential" | "address" | "agent">

/** Sessions of browsers, by the SHA-256 of their secrets. Ended sessions are absent, and the next sign-in deletes their rows. */
export class SessionStore extends Context.Service<SessionStore, {
  readonly create: (hash: Uint8Array, session: NewSession) => Effect.Effect<Session, StoreError>
  /** None for an unknown or ended session. Notes the use, at most once a minute. */
  readonly use: (hash: Uint8Array) => Effect.Effect<Option.Option<Session>, StoreError>
  /** False for a session of another account, or an ended one. */
  readonly end: (accountId: number, id: number) => Effect.Effect<boolean, StoreError>
  /** The ids of those sessions, of the given ones, that have not ended. Is no use. */
  readonly findOpen: (ids: ReadonlyArray<number>) => Effect.Effect<ReadonlySet<number>, StoreError>
  /** The newest use first. */
  readonly list: (accountId: number) => Effect.Effect<ReadonlyArray<Session>, StoreError>
}>()("windhover/domain/ports/SessionStore") {}
