import type { PermanentRedirect } from "./PermanentRedirect.ts"
import type { ValidatorTrust } from "./Validators.ts"

/** Habits of a server, learned from its answers. Few resources have a profile; the store keeps the profile as JSON. */
export interface ServerProfile {
  /** Doubts about the validators; absent for a trusted server. */
  readonly validatorTrust?: ValidatorTrust
  /** Epoch ms of the last proven lie; only with `validatorTrust`. */
  readonly caughtLyingAt?: number
  /** A conditional request may have been refused, see `ConditionRefusal`; absent after the next answer. */
  readonly refusedOnce?: true
  readonly permanentRedirect?: PermanentRedirect
  /** Epoch ms of the first of several answers in a row that could not be read. */
  readonly unreadableSince?: number
  /** End of the temporary redirects at the last fetch, see `LoginWall.locationOf`; only for pages and parts of pages. */
  readonly lastLocation?: string
  /** Epoch ms of a truncated first document, until a whole document arrives. */
  readonly truncatedAt?: number
  /** Date (epoch ms) of the newest entry beyond the limit of the last document, at most; 0 for entries without a date. */
  readonly leftOutUntil?: number
  /** Readings or selections in a row that were killed at a limit, and the end (epoch ms) of the pause after the last one. */
  readonly kills?: number
  readonly killedUntil?: number
  /** Status of the last fetch before a push; absent after the next fetched document. */
  readonly statusBeforePush?: number
}

/** Changes of a profile; undefined forgets a habit. */
export type ServerProfileChanges = { readonly [K in keyof ServerProfile]?: ServerProfile[K] | undefined }

/** Forgets the kills, after a document that was read or selected. */
export const noKills: ServerProfileChanges = { kills: undefined, killedUntil: undefined }

/** The profile for a resource state. A profile without habits is left out. */
export const serverProfileOf = (changes: ServerProfileChanges): { readonly serverProfile?: ServerProfile } => {
  const profile: { -readonly [K in keyof ServerProfile]: ServerProfile[K] } = {}
  const {
    caughtLyingAt,
    killedUntil,
    kills,
    lastLocation,
    leftOutUntil,
    permanentRedirect,
    refusedOnce,
    statusBeforePush,
    truncatedAt,
    unreadableSince,
    validatorTrust
  } = changes
  if (validatorTrust !== undefined) profile.validatorTrust = validatorTrust
  if (caughtLyingAt !== undefined) profile.caughtLyingAt = caughtLyingAt
  if (refusedOnce !== undefined) profile.refusedOnce = refusedOnce
  if (unreadableSince !== undefined) profile.unreadableSince = unreadableSince
  if (permanentRedirect !== undefined) profile.permanentRedirect = permanentRedirect
  if (truncatedAt !== undefined) profile.truncatedAt = truncatedAt
  if (lastLocation !== undefined) profile.lastLocation = lastLocation
  if (leftOutUntil !== undefined) profile.leftOutUntil = leftOutUntil
  if (kills !== undefined) profile.kills = kills
  if (killedUntil !== undefined) profile.killedUntil = killedUntil
  if (statusBeforePush !== undefined) profile.statusBeforePush = statusBeforePush
  return Object.keys(profile).length === 0 ? {} : { serverProfile: profile }
}
