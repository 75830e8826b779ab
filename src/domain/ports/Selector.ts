import { Context, type Effect, Schema } from "effect"
import type { Fragment } from "#domain/poll/Fragment.ts"
import type { WorkerTurn } from "#domain/poll/WorkerTurn.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import { reasonOf } from "./Reason.ts"

/** The detected syntax of a document. */
export type Syntax = "html" | "xml" | "json"

export interface Selection {
  /** All matches in document order, as bytes with their Content-Type; empty without matches. */
  readonly document: Document
  readonly matches: number
}

/** A place of a document, as people choose it. */
export interface OutlineLine {
  readonly depth: number
  /** The element with its id and classes, or the name of a JSON value. */
  readonly label: string
  /** The beginning of its own text, or of the JSON value. */
  readonly text: string
  /** A path that selects the place. */
  readonly path: string
  readonly isSelected: boolean
}

/** The places of a document that hold text, in its order. */
export interface Outline {
  readonly lines: ReadonlyArray<OutlineLine>
  /** The document has more places than are listed. */
  readonly isCut: boolean
}

/** Places of an outline, at most. */
export const maxOutlineLines = 400

/**
 * A failed selection. `Invalid`: the path can never work. `Unfit`: the path is in another language than the document, or the document is
 * damaged. `TooMuch`: a limit of depth or size is exceeded. `Killed`: the selection was ended at a limit of time or memory.
 */
export class SelectorError extends Schema.TaggedError<SelectorError>()("SelectorError", {
  reason: reasonOf(["Invalid", "Unfit", "TooMuch", "Killed"])
}) {
  override get message(): string {
    return this.reason.message
  }
}

/** Selects fragments of documents: HTML and XML by CSS paths, JSON by JSONPath. */
export class Selector extends Context.Service<Selector, {
  /** Fails with `Invalid` and the position of the error in the path. */
  readonly check: (fragment: Fragment) => Effect.Effect<void, SelectorError>
  readonly select: (wanted: {
    readonly fragment: Fragment
    readonly syntax: Syntax
    readonly bytes: Uint8Array
    readonly contentType: string | undefined
    readonly turn: WorkerTurn
  }) => Effect.Effect<Selection, SelectorError>
  /** Lists the places of a document, and marks the ones that the fragment selects. */
  readonly outline: (wanted: {
    readonly fragment?: Fragment
    readonly syntax: Syntax
    readonly bytes: Uint8Array
    readonly contentType: string | undefined
    readonly turn: WorkerTurn
  }) => Effect.Effect<Outline, SelectorError>
}>()("windhover/domain/ports/Selector") {}
