import type { Fingerprint } from "#domain/Fingerprint.ts"
import type { ReadOptions } from "./Document.ts"

export interface Sliced {
  readonly slices: ReadonlyArray<Fingerprint>
  /** The document without the entries that were seen. */
  readonly unseen: Uint8Array
  readonly skipped: number
}

export const slice = (_bytes: Uint8Array, _options: ReadOptions): Sliced | undefined => undefined
