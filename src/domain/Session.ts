import { dayMs, hourMs } from "./Time.ts"

/** A sign-in of a browser. The browser has the secret in a cookie, and the store has its hash. */
export interface Session {
  readonly id: number
  readonly accountId: number
  /** `Caller.credential` of the sign-in: the session ends with this token or password. */
  readonly credential: string
  readonly createdAt: number
  /** Epoch ms of the last use, exact to a minute. */
  readonly usedAt: number
  /** Client address of the sign-in. */
  readonly address: string
  /** User-Agent of the sign-in. */
  readonly agent: string
}

/** Maximum time between two uses of a session. */
export const maxIdleMs = 12 * hourMs

/** Maximum age of a session, however often it is used. */
export const maxAgeMs = 7 * dayMs

/** Maximum of sessions of one account. A further sign-in ends the session that was unused for longest. */
export const maxSessions = 50

/** True for a session that has been idle for too long, or is too old. */
export const hasEnded = ({ createdAt, usedAt }: Pick<Session, "createdAt" | "usedAt">, now: number): boolean =>
  now - usedAt >= maxIdleMs || now - createdAt >= maxAgeMs
