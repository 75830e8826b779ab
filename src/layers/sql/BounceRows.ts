import type { Bounces, Trial } from "#domain/delivery/Bounce.ts"
import { millis } from "./Values.ts"

/** Columns of `bounces` under an alias; all null where a left join found none. */
export interface BounceRow {
  readonly bounces: number | null
  readonly bounced_since: number
  readonly bounced_sequence: number
  readonly bounced_at: number
  readonly bounced_message: string
  readonly trials: number
}

export const bounceColumns = (alias: string): string =>
  `${alias}.count as bounces, ${
    millis(`${alias}.since`)
  } as bounced_since, ${alias}.sequence::float8 as bounced_sequence,
  ${millis(`${alias}.last_at`)} as bounced_at, ${alias}.message as bounced_message, ${alias}.trials`

export const bouncesOf = (row: BounceRow): Bounces | undefined =>
  row.bounces === null ? undefined : {
    count: row.bounces,
    since: row.bounced_since,
    sequence: row.bounced_sequence,
    lastAt: row.bounced_at,
    message: row.bounced_message,
    trials: row.trials
  }

/** Columns of a subscription and of its `bounces`, where it is on trial. */
export interface TrialRow {
  readonly on_trial: boolean
  readonly tried_sequence: number | null
  readonly tried_until: number
}

export const trialColumns = (subscription: string, bounces: string): string =>
  `${subscription}.on_trial, ${bounces}.tried_sequence::float8 as tried_sequence, ${
    millis(`${bounces}.tried_until`)
  } as tried_until`

export const trialOf = (row: TrialRow): Trial | undefined => {
  if (!row.on_trial) return undefined
  return row.tried_sequence === null ? {} : { sent: { sequence: row.tried_sequence, until: row.tried_until } }
}
