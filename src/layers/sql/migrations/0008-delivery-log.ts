/** Failed tries of deliveries: a ring of places for each subscription, so that nobody's failures grow. */
export const statements: ReadonlyArray<string> = [
  // No foreign key, as in the outbox: what a removed subscription leaves goes with age.
  `create table delivery_log (
    subscription_id bigint not null,
    place smallint not null,                    -- see placeInLog
    sequence bigint not null,
    attempt smallint not null,                  -- 1: the first try
    failed_at timestamptz not null,
    code smallint not null,                     -- 0: no answer
    message text not null,
    latency integer,                            -- ms
    next_try timestamptz,                       -- null: dropped
    primary key (subscription_id, place)
  )`,
  `create index delivery_log_newest on delivery_log (failed_at)`
]
