/** Notifications that came back, by subscription: see `Bounces`. */
export const statements: ReadonlyArray<string> = [
  `create table bounces (
    subscription_id bigint primary key references subscriptions on delete cascade,
    count integer not null,
    since timestamptz not null,
    sequence bigint not null,
    last_at timestamptz not null,
    message text not null
  )`
]
