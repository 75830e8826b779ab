import type { Vocabulary } from "#domain/normalize/ElementContext.ts"

/** A namespace beside the dialects: its key, its URIs and readers of its elements. */
export interface Namespace {
  /** Short key. A prefix that equals the key counts even where the document forgets to declare it. */
  readonly key: string
  /** URIs as publishers write them, in lower case, with `http:` and without the last slash. */
  readonly uris: ReadonlyArray<string>
  readonly vocabulary: Vocabulary
}
