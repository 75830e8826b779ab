/** Trials outlast whoever has sent them, and end with a sign of life. See `BounceStore`. */
export const statements: ReadonlyArray<string> = [
  `alter table subscriptions add column on_trial boolean not null default false`,
  `alter table bounces
    add column tried_sequence bigint,                 -- of the notification that went out on trial
    add column tried_until timestamptz`,
  `update subscriptions u set on_trial = true from bounces b where b.subscription_id = u.id and b.trials > 0 and u.state = 1 and u.channel = 1`,
  `drop index subscriptions_paused`,
  `drop index subscriptions_paused_host`,
  `create index subscriptions_halted on subscriptions (hashtextextended(endpoint, 0), id) where state = 2 or on_trial`,
  `create index subscriptions_halted_host on subscriptions (account_id, host, id) where state = 2 or on_trial`,
  // Sequences that were made up before they were looked at: no real one could follow them.
  `delete from delivery_log l using subscriptions u where u.id = l.subscription_id and u.channel = 1 and l.sequence >= u.next_sequence`,
  `update bounces b set sequence = u.next_sequence - 1 from subscriptions u where u.id = b.subscription_id and b.sequence >= u.next_sequence`
]
