/** Subscriptions of this service at the hubs of publishers, and how the hubs do. */
export const statements: ReadonlyArray<string> = [
  `create table upstreams (
    resource_id bigint primary key references resources (id) on delete cascade,
    partition smallint not null,
    hubs text not null,                         -- addresses, JSON
    hub text not null,                          -- the one that is asked
    topic text not null,                        -- the resource as the hub knows it
    state smallint not null,                    -- 0 idle, 1 asked, 2 active, 3 leaving
    callback text,                              -- end of the callback's path; with the secret where there is a subscription
    secret text,
    lease_until timestamptz,
    due_at timestamptz,                         -- when to do what comes next; null: nothing
    failures integer not null,
    trusted boolean not null,
    problem text,
    revision integer not null
  )`,
  `create unique index upstreams_callback on upstreams (callback)`,
  `create index upstreams_partition on upstreams (partition)`,

  `create table hubs (
    hub text primary key,
    pushed bigint not null,                     -- documents
    missed bigint not null,                     -- entries that polls found in place of it
    strikes integer not null                    -- resources that it was trusted with and missed, since it pushed last
  )`
]
