import { Context, type Effect, Schema } from "effect"
import type { Fragment } from "#domain/poll/Fragment.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import { reasonOf } from "./Reason.ts"

/** The syntax that a document was found to have. */
export type Syntax = "html" | "xml" | "json"

export interface Selection {
  /** All matches in document order, as bytes with their Content-Type; empty without matches. */
  readonly document: Document
  readonly matches: number
}

/**
 * Nothing was selected. `invalid`: the path itself can never work. `unfit`: it is of another language than the document, or the document is
 * damaged. `too-much`: time, memory, depth or size.
 */
export class SelectorError extends Schema.TaggedError<SelectorError>()("SelectorError", {
  reason: reasonOf(["Invalid", "Unfit", "TooMuch"])
}) {
  override get message(): string {
    return this.reason.message
  }
}

/** Selects fragments of documents: HTML and XML by CSS paths, JSON by JSONPath. */
export class Selector extends Context.Service<Selector, {
  /** Fails as `invalid`, saying where the path breaks. */
  readonly check: (fragment: Fragment) => Effect.Effect<void, SelectorError>
  readonly select: (wanted: {
    readonly fragment: Fragment
    readonly syntax: Syntax
    readonly bytes: Uint8Array
    readonly contentType: string | undefined
  }) => Effect.Effect<Selection, SelectorError>
}>()("windhover/domain/ports/Selector") {}
