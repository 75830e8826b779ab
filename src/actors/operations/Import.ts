import { Context, type Effect, type Scope, type Stream } from "effect"
import type { Caller } from "#domain/Account.ts"
import type { Retry } from "#domain/delivery/Retry.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { Format } from "#domain/Subscription.ts"

/** Settings of the lines that name none themselves, unchecked. */
export interface ImportDefaults {
  readonly callback?: string
  /** A JID of the account. JIDs of a list that are not the account's are replaced by this one. */
  readonly jid?: string
  /** The null device. */
  readonly nullDevice?: boolean
  readonly format?: Format
  readonly secret?: string
  readonly retry?: Retry
  /** Added to the labels of every line. */
  readonly labels: ReadonlyArray<string>
}

export interface ImportRequest<E> {
  readonly caller: Caller
  readonly defaults: ImportDefaults
  /** The bytes of the list, or the URL under which Windhover fetches the list. */
  readonly source: Stream.Stream<Uint8Array, E> | string
}

/** Result of one line. Texts of the list are masked: a URL shows `***` in place of its user name and password. */
export interface LineResult {
  readonly _tag: "Line"
  readonly line: number
  readonly topic?: string
  /** `exists`: the subscription was there before, in the list or in the account. `skipped`: the line is no subscription. */
  readonly result: "subscribed" | "exists" | "refused" | "skipped"
  readonly reason?: string
  readonly subscription?: number
  /** Settings of the line that the existing subscription does not have. An import changes no setting but the labels. */
  readonly differs?: ReadonlyArray<"format" | "secret" | "retry" | "state">
}

export interface ImportCounts {
  readonly subscribed: number
  readonly existing: number
  readonly refused: number
  readonly skipped: number
}

/** Events of an import, in the order of the list. `Done` is the last one; a list with a fault ends with `Broken` instead. */
export type ImportEvent =
  | LineResult
  /** After each batch: bytes that were read so far. */
  | { readonly _tag: "Progress"; readonly bytes: number; readonly counts: ImportCounts }
  | { readonly _tag: "Done"; readonly counts: ImportCounts }
  | { readonly _tag: "Broken"; readonly line: number; readonly reason: string; readonly counts: ImportCounts }

/** Maximum bytes of a list. */
export const maxListBytes = 64 * 1024 * 1024

/** Maximum lines of a list that are read: subscriptions, and others. */
export const maxListLines = 1_000_000

/** Subscribes an account to the lines of a list. A repetition adds nothing, so that a broken import is completed by another one. */
export class Import extends Context.Service<Import, {
  /** Refuses an import beyond the limits. The stream works as fast as its events are read, while the scope is open. */
  readonly start: <E>(
    request: ImportRequest<E>
  ) => Effect.Effect<Stream.Stream<ImportEvent, E | Refusal>, Refusal, Scope.Scope>
}>()("windhover/actors/operations/Import") {}
