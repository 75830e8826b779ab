import type { PollWrite } from "#domain/ports/ResourceStore.ts"

/** A stored version of a document that is no feed. */
export interface DocumentVersion {
  /** Ascending in the order of storing. */
  readonly id: number
  /** Epoch ms. */
  readonly at: number
  readonly contentType: string
  readonly bytes: number
}

/** Versions of one resource; older ones are deleted. */
export const maxVersions = 10

/** Bytes of a version. Larger documents have no versions. */
export const maxVersionBytes = 256 * 1024

const textTypes = /^(?:text\/|application\/(?:[\w.-]+\+)?(?:json|xml)\b|application\/xhtml)/i

/**
 * Whether a write stores its document as a version, too.
 *
 * Versions are for texts that an account watches: strangers must not fill the disk, and a difference of images says nothing.
 */
export const keepsVersion = ({ announce, document: stored, state }: PollWrite): boolean => {
  const document = announce?._tag === "Document" ? announce.document : stored
  return document !== undefined && state.strangersOnly !== true && document.body.byteLength <= maxVersionBytes &&
    textTypes.test(document.contentType)
}
