import { unpackFingerprints } from "#domain/Fingerprint.ts"
import type { ResourceState } from "./Resource.ts"

/** The outcome of a publisher's ping. */
export type PingOutcome =
  /** The resource has no subscribers, so it is not fetched. */
  | { readonly _tag: "NoSubscriber" }
  /** The fetched or pushed document has no news. */
  | { readonly _tag: "Unchanged"; readonly code: number }
  /** `entries` is the number of new and updated entries; 0 for other documents. */
  | { readonly _tag: "Changed"; readonly code: number; readonly entries: number }
  | { readonly _tag: "Failed"; readonly code: number; readonly message: string }

/** The outcome of a fetch, from the resource before and after, and the number of new and updated entries. */
export const pingOutcomeOf = (before: ResourceState, after: ResourceState, entries: number): PingOutcome => {
  const code = after.code ?? 0
  if (after.failures > 0) return { _tag: "Failed", code, message: after.http ?? "" }
  if (entries > 0) return { _tag: "Changed", code, entries }
  return hasDocumentChanged(before, after) ? { _tag: "Changed", code, entries: 0 } : { _tag: "Unchanged", code }
}

/** Whether the document changed; for a fragment, whether the selection changed. */
const hasDocumentChanged = (before: ResourceState, { kind, signature, slices }: ResourceState): boolean => {
  if (kind === "feed") return false
  if (kind !== "html-fragment" && kind !== "json-fragment") return signature !== before.signature
  const [previous] = unpackFingerprints(before.slices)
  const [selected] = unpackFingerprints(slices)
  return selected !== previous
}

/** The outcome in words. */
export const describePing = (outcome: PingOutcome | undefined): string => {
  switch (outcome?._tag) {
    case undefined:
      return "not fetched yet"
    case "NoSubscriber":
      return "no subscriber"
    case "Unchanged":
      return `${outcome.code}, unchanged`
    case "Changed":
      return outcome.entries === 0 ? `${outcome.code}, changed` : `${outcome.code}, ${outcome.entries} new`
    case "Failed":
      return outcome.message
  }
}
