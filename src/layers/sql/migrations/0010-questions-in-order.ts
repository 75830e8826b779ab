/** Questions about one topic and callback follow each other, and lanes of them do not stand in each other's way. */
export const statements: ReadonlyArray<string> = [
  `alter table questions drop constraint questions_key_key, drop column revision,
    add column lane smallint not null default 0,          -- 0 strangers, 1 standing, 2 accounts
    add column claimed boolean not null default false`, // somebody asks it, or has died of it
  `create index questions_key on questions (key, id)`,
  `drop index questions_due`,
  `create index questions_due on questions (lane, due_at)`,

  // Subscriptions of the hub face are counted by site, whose hosts end alike: the last label first, "com.example.hooks.".
  `create index subscriptions_hub_site on subscriptions (((reverse(rtrim(host, '.')) || '.') collate "C")) where account_id = 0`
]
