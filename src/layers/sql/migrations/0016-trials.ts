/** Trials of paused subscriptions; those that are paused already are tried soon. See `BounceStore`. */
export const statements: ReadonlyArray<string> = [
  `alter table bounces
    add column trials integer not null default 0,
    add column trial_at timestamptz                   -- of a paused subscription`,
  `update bounces b set trial_at = b.last_at from subscriptions u where u.id = b.subscription_id and u.state = 2`,
  `create index bounces_trial on bounces (trial_at) where trial_at is not null`,
  // Asked with each sign of life of a JID or a domain: they may have many subscriptions, and few or none that are paused.
  `create index subscriptions_paused on subscriptions (hashtextextended(endpoint, 0), id) where state = 2`,
  `create index subscriptions_paused_host on subscriptions (account_id, host, id) where state = 2`
]
