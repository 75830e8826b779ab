/** The log of deliveries has the last success of a subscription, and how subscriptions ended or came to nothing. */
export const statements: ReadonlyArray<string> = [
  // A success has a place of its own behind those of the failures: see placeOfSuccess.
  `alter table delivery_log rename column failed_at to tried_at`,

  // The subscription is gone, or never was.
  `create table delivery_ends (
    id bigint generated always as identity primary key,
    account_id integer not null references accounts on delete cascade,
    subscription_id bigint,                     -- null: its callback denied it
    topic text not null,                        -- as the subscriber wrote it
    endpoint text not null,
    sequence bigint,
    attempt smallint,
    tried_at timestamptz not null,
    code smallint not null,                     -- 0: no answer, or one of which the message tells
    message text not null,
    latency integer                             -- ms
  )`,
  `create index delivery_ends_newest on delivery_ends (tried_at)`
]
