/**
 * Searching subscriptions by the ranks of their feeds, and the record of publishers' pings.
 */
export const statements: ReadonlyArray<string> = [
  // What is not known counts as 0. Maintenance moves them, at most once a day, but for bozo_rank, which seldom moves.
  `create index resources_velocity on resources ((coalesce(velocity, 0)))`,
  `create index resources_popularity on resources ((coalesce(popularity, 0)))`,
  `create index resources_porn_rank on resources ((coalesce(porn_rank, 0)))`,
  `create index resources_bozo_rank on resources ((coalesce(bozo_rank, 0)))`,

  // One callback may serve half a million subscriptions, and a hash index walks all of them to add one more.
  `drop index subscriptions_endpoint`,
  `create index subscriptions_endpoint on subscriptions (account_id, hashtextextended(endpoint, 0), id)`,

  // Whether a part of a URL is rare or common decides how it is found, and a hundred samples do not show it.
  `alter table resources alter column url set statistics 500`,
  `alter table subscriptions alter column endpoint set statistics 500`,

  `create table pings (
    id bigint generated always as identity primary key,
    account_id integer references accounts on delete cascade, -- null: through the open hub
    topic text not null,                        -- as the publisher wrote it
    resource_id bigint,                         -- null: nobody has ever watched it
    with_content boolean not null,
    received_at timestamptz not null,
    outcome smallint,                           -- 0 no subscriber, 1 unchanged, 2 changed, 3 failed; null: not fetched yet
    entries integer,                            -- that were new, of a feed
    code smallint,                              -- of the fetch
    message text,                               -- why it failed
    answered_at timestamptz
  )`,
  `create index pings_account on pings (account_id, id)`,
  `create index pings_waiting on pings (resource_id) where outcome is null`
]
