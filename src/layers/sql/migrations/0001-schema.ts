/**
 * The first schema.
 *
 * One dialect for every engine: PostgreSQL 14 and newer, and the embedded one. Nothing here is specific to a server.
 * All JSON is `text`, not `jsonb`: documents of strangers hold U+0000, which `jsonb` refuses, and nothing asks inside them.
 * 64-bit fingerprints are stored signed (`BigInt.asIntN(64, …)`).
 */
export const statements: ReadonlyArray<string> = [
  `create extension if not exists pg_trgm`,

  `create table accounts (
    id integer generated always as identity primary key,
    login text not null unique,
    password_hash text not null,
    jid text unique,                            -- bare
    credits bigint not null default 0,
    created_at timestamptz not null
  )`,

  `create table tokens (
    id integer generated always as identity primary key,
    account_id integer not null references accounts on delete cascade,
    hash bytea not null unique,                 -- SHA-256 of the token
    rights integer not null,                    -- bit set, see Account.toBits
    name text not null,
    created_at timestamptz not null
  )`,
  `create index tokens_account on tokens (account_id)`,

  // Cold: written when the resource is made, by maintenance, and when the feed's header changes.
  `create table resources (
    id bigint generated always as identity primary key,
    key bytea not null unique,                  -- first 16 bytes of SHA-256(url): a topic may exceed what an index key can hold
    url text not null,                          -- canonical topic
    host text not null,
    partition smallint not null,
    kind smallint not null,                     -- 0 unknown, 1 feed, 2 json, 3 html-fragment, 4 json-fragment, 5 other
    header text,                                -- FeedHeader, JSON
    id_policy text,                             -- JSON, see EntryId
    generated_ids boolean not null default false,
    velocity double precision,
    popularity double precision,
    porn_rank double precision,
    bozo_rank double precision,
    last_maintenance_at timestamptz,
    created_at timestamptz not null
  )`,
  `create index resources_partition on resources (partition, id)`,
  `create index resources_host on resources (host)`,
  `create index resources_url_trgm on resources using gin (url gin_trgm_ops)`,

  // Hot and narrow: every poll, changed or not, moves one row in place. So it has its key and no other index:
  // one on next_fetch makes each of these updates a new row version in every index (2.5 to 6 times slower).
  `create table schedule (
    resource_id bigint primary key references resources on delete cascade,
    next_fetch timestamptz not null,
    last_fetch timestamptz,
    period integer not null,                    -- seconds
    http_code smallint,                         -- 0: no answer came
    failures integer not null default 0
  ) with (fillfactor = 70)`,

  // Warm: written when the document changed.
  `create table resource_state (
    resource_id bigint primary key references resources on delete cascade,
    http_message text,
    last_parse timestamptz,
    last_full timestamptz,
    etag text,
    last_modified text,
    signature bigint,                           -- fingerprint of the body
    in_error boolean not null default false,
    entries_since_maintenance integer not null default 0,
    seen bytea not null default '',             -- packed fingerprints of ids, newest first, bounded: see SeenIds
    slices bytea not null default '',           -- packed fingerprints of the last document's entry slices
    content_type text,                          -- of a resource that is no feed: its current representation
    document bytea
  ) with (fillfactor = 80)`,

  // Each notification moves next_sequence: pages with room keep that update in place (92 % at 60, 44 % at 80), out of six indexes.
  `create table subscriptions (
    id bigint generated always as identity primary key,
    account_id integer not null references accounts on delete cascade,
    resource_id bigint not null references resources,
    topic text not null,                        -- as the subscriber wrote it
    channel smallint not null,                  -- 0 webhook, 1 xmpp, 2 null
    endpoint text not null,                     -- callback URL or bare JID
    host text not null,                         -- host of the callback, domain of the JID
    format smallint,                            -- 0 atom, 1 json; null: Atom for feeds, raw bytes for everything else
    secret text,
    face smallint not null,                     -- 0 api, 1 hub
    state smallint not null,                    -- 0 pending, 1 active, 2 paused
    lease_until timestamptz,
    next_sequence bigint not null default 1,    -- of its next notification; whoever inserts deliveries moves it, in that transaction
    created_at timestamptz not null,
    unique (resource_id, account_id, endpoint, face)
  ) with (fillfactor = 60)`,
  `create index subscriptions_account on subscriptions (account_id, id)`,
  `create index subscriptions_host on subscriptions (account_id, host, id)`,
  `create index subscriptions_endpoint on subscriptions using hash (endpoint)`,
  `create index subscriptions_endpoint_trgm on subscriptions using gin (endpoint gin_trgm_ops)`,

  `create table entries (
    resource_id bigint not null,
    seq bigint generated always as identity,    -- order of arrival
    hash bigint not null,                       -- fingerprint of the id; whoever looks an id up compares the id in the body as well
    published timestamptz,
    first_seen timestamptz not null,
    body text not null,                         -- Entry, JSON
    primary key (resource_id, seq)
  )`,
  `create unique index entries_hash on entries (resource_id, hash)`,
  `create index entries_newest on entries (resource_id, coalesce(published, first_seen), seq)`,

  // What happened, once for all subscribers.
  `create table notifications (
    id bigint generated always as identity primary key,
    resource_id bigint not null,
    kind smallint not null,                     -- 0 entries, 1 document, 2 failure
    status text not null,                       -- Status without feed, JSON, as it was then
    header text,                                -- FeedHeader, JSON, as it was then
    seqs bigint[],                              -- of its entries, in the order of the notification
    content_type text,
    document bytea,
    created_at timestamptz not null
  )`,

  // The outbox: one row a subscription. No foreign keys: they cost a look-up an insert, and the update of next_sequence
  // orders a fan-out against the removal of its subscription (which deletes the subscription first, then its deliveries).
  `create table deliveries (
    id bigint generated always as identity primary key,
    notification_id bigint not null,
    subscription_id bigint not null,
    sequence bigint not null,                   -- 1, 2, 3 … of the subscription
    partition smallint not null,                -- of the subscription's resource
    state smallint not null default 0,          -- 0 waiting, 1 dropped
    attempt smallint not null default 0,        -- tries that have failed
    credits bigint not null,                    -- balance after this notification
    due_at timestamptz not null,
    last_code smallint,
    last_error text,
    created_at timestamptz not null
  ) with (fillfactor = 80)`,
  // Each row is in one of these two, so that a thousand dropped ones are never read to find the first waiting one.
  `create unique index deliveries_waiting on deliveries (subscription_id, sequence) where state = 0`,
  `create unique index deliveries_dropped on deliveries (subscription_id, sequence) where state = 1`,
  `create index deliveries_stalled on deliveries (due_at) where state = 0`,

  `create table credit_ledger (
    account_id integer not null references accounts on delete cascade,
    kind smallint not null,                     -- 0 usage (one row an hour), 1 top-up, 2 adjustment
    bucket timestamptz not null,                -- start of the hour, or the moment
    delta bigint not null,
    primary key (account_id, bucket, kind)
  )`
]
