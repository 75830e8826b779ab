/**
 * Condition: notifications are recorded for the subscription at `$1` (epoch ms). It is active, or a paused webhook, whose notifications are
 * recorded as dropped.
 */
export const isLive = (subscription: string): string =>
  `(${subscription}.state = 1 or ${subscription}.state = 2 and ${subscription}.channel = 0) and (${subscription}.lease_until is null or ${subscription}.lease_until > to_timestamp($1::float8 / 1000.0))`

/**
 * True when the tables have such a row, by a look-up for each outer row.
 *
 * PostgreSQL may answer `exists` by reading all rows of a table once, into a hash. A generic plan that was made while the table
 * was small would then read the grown table for each outer row.
 */
export const hasRow = (tables: string): string => `(select true from ${tables} limit 1) is not null`

/**
 * The condition of a join with the rows of a parameter again, by the parameter itself.
 *
 * A plan that was made while the table was small then reads no more rows of the grown table than these.
 */
export const isOneOf = (id: string, parameter: string): string => `${id} = any(${parameter}::int8[])`

/**
 * Condition that is true: the commit of this statement does not wait for the disk. The next commit that waits writes it, too.
 *
 * After a crash, the writes of the last second may be missing. They may repeat work, never lose work.
 */
export const commitsLater = "(select set_config('synchronous_commit', 'off', true)) is not null"

/** The sentence of a notification that a paused subscription did not get. */
const pausedMessage = "The subscription is paused; resume the subscription and recover the notification."

/** Columns of `deliveries` that depend on the state of the subscription, and their values. */
export const stateColumns = "state, last_code, last_error"
export const stateValues = (state: string): string =>
  `case ${state} when 2 then 1 else 0 end, case ${state} when 2 then 0 end, case ${state} when 2 then '${pausedMessage}' end`
