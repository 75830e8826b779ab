import { unpackAll } from "#domain/Fingerprint.ts"
import type { ResourceState } from "./Resource.ts"

/** What came of a publisher's ping. */
export type PingOutcome =
  /** Nobody watches it, so that it is not fetched. */
  | { readonly _tag: "NoSubscriber" }
  /** Fetched (or pushed), and nothing in it was new. */
  | { readonly _tag: "Unchanged"; readonly code: number }
  /** `entries` that were new or updated; 0 of a resource that is no feed. */
  | { readonly _tag: "Changed"; readonly code: number; readonly entries: number }
  | { readonly _tag: "Failed"; readonly code: number; readonly message: string }

/** What a fetch came to, by the resource before and after it, and the entries that were new or updated. */
export const pingOutcomeOf = (before: ResourceState, after: ResourceState, entries: number): PingOutcome => {
  const code = after.code ?? 0
  if (after.failures > 0) return { _tag: "Failed", code, message: after.http ?? "" }
  if (entries > 0) return { _tag: "Changed", code, entries }
  return hasDocumentChanged(before, after) ? { _tag: "Changed", code, entries: 0 } : { _tag: "Unchanged", code }
}

/** Of a fragment only what is selected counts. */
const hasDocumentChanged = (before: ResourceState, { kind, signature, slices }: ResourceState): boolean => {
  if (kind === "feed") return false
  if (kind !== "html-fragment" && kind !== "json-fragment") return signature !== before.signature
  const [previous] = unpackAll(before.slices)
  const [selected] = unpackAll(slices)
  return selected !== previous
}
