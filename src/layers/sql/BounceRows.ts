import type { BounceHistory, Trial } from "#domain/delivery/Bounce.ts"
import { millis } from "./Values.ts"

/** Columns of `bounces`; all null when a left join finds no row. */
export interface BounceRow {
  readonly bounces: number | null
  readonly bounced_since: number
  readonly bounced_sequence: number
  readonly bounced_at: number
  readonly bounced_message: string
  readonly trials: number
}

export const bounceColumns = (alias: string): string =>
  `${alias}.count as bounces,
    ${millis(`${alias}.since`)} as bounced_since, ${alias}.sequence::float8 as bounced_sequence,
  ${millis(`${alias}.last_at`)} as bounced_at, ${alias}.message as bounced_message, ${alias}.trials`

export const bouncesOf = (row: BounceRow): BounceHistory | undefined =>
  row.bounces === null ? undefined : {
    count: row.bounces,
    since: row.bounced_since,
    sequence: row.bounced_sequence,
    lastAt: row.bounced_at,
    message: row.bounced_message,
    trials: row.trials
  }

/** Columns of a subscription on trial and of its `bounces`. */
export interface TrialRow {
  readonly on_trial: boolean
  readonly trial_sequence: number | null
  readonly trial_until: number
}

export const trialColumns = (subscription: string, bounces: string): string =>
  `${subscription}.on_trial, ${bounces}.trial_sequence::float8 as trial_sequence,
    ${millis(`${bounces}.trial_until`)} as trial_until`

export const trialOf = (row: TrialRow): Trial | undefined => {
  if (!row.on_trial) return undefined
  return row.trial_sequence === null ? {} : { sent: { sequence: row.trial_sequence, until: row.trial_until } }
}
