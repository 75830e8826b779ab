/**
 * The schema of the first release.
 *
 * The same SQL runs on PostgreSQL 14 and newer and on the embedded database.
 * JSON is stored as `text`, because feeds contain U+0000, which `jsonb` rejects, and no query looks inside the JSON.
 * 64-bit fingerprints are stored as signed numbers (`BigInt.asIntN(64, …)`).
 */

/**
 * An analyze of a table with many wide rows reads 7,500 rows and pages instead of 30,000, 300 for each unit. With the default, one of 42,000 entries
 * of 1.7 kB takes 0.36 s of a core instead of 0.15. The largest unit of a table decides, so that each column has this one. Statements on these
 * tables look rows up by key; a condition of the retention uses no statistics.
 */
const fewStatistics = "set statistics 25"

const sampleLess = (table: string, columns: ReadonlyArray<string>): ReadonlyArray<string> =>
  columns.map((column) => `alter table ${table} alter column ${column} ${fewStatistics}`)

const encryption = [
  // Keys that have sealed secrets of this database. See EncryptionKeys.
  `create table encryption_keys (
    id bytea primary key,
    proof bytea not null,                       -- sealed constant
    created_at timestamptz not null default now()
  )`
]

const accounts = [
  `create table accounts (
    id integer generated always as identity primary key,
    login text not null unique,
    password_hash text not null,
    jid text unique,                            -- bare
    credits bigint not null default 0,
    created_at timestamptz not null,
    legacy_item_namespace boolean,              -- null: as the installation is set
    admin boolean not null default false,       -- an operator's account
    disabled boolean not null default false,    -- its credentials are refused
    max_subscriptions integer                   -- null: without limit
  )`,
  `create index accounts_admin on accounts (id) where admin`,
  // Account 0 owns all subscriptions of the hub face. Identities start at 1, and no valid login has this form.
  `insert into accounts (id, login, password_hash, created_at) overriding system value values (0, '(hub)', '', to_timestamp(0))`,

  `create table tokens (
    id integer generated always as identity primary key,
    account_id integer not null references accounts on delete cascade,
    hash bytea not null unique,                 -- SHA-256 of the token
    rights integer not null,                    -- bit set, see Account.rightsToBits
    name text not null,
    created_at timestamptz not null,
    used_at timestamptz                         -- exact to an hour; null: never
  )`,
  `create index tokens_account on tokens (account_id, id)`,

  // Sign-ins of browsers. The cookie has the secret, and this table has its hash.
  `create table sessions (
    id integer generated always as identity primary key,
    hash bytea not null unique,                 -- SHA-256 of the secret
    account_id integer not null references accounts on delete cascade,
    credential text not null,                   -- of the sign-in, see Caller.credential
    address text not null,
    agent text not null,
    created_at timestamptz not null,
    used_at timestamptz not null                -- exact to a minute
  )`,
  `create index sessions_account on sessions (account_id, used_at)`,

  `create table credit_ledger (
    account_id integer not null references accounts on delete cascade,
    kind smallint not null,                     -- 0 usage (one row per hour), 1 top-up, 2 adjustment
    bucket timestamptz not null,                -- start of the hour, or the moment
    delta bigint not null,
    primary key (account_id, bucket, kind)
  )`,

  // Logs of events. Account 0 has the operators' log of all events. See EventLog.
  `create table events (
    id bigint generated always as identity primary key,
    account_id integer not null references accounts on delete cascade,
    at timestamptz not null,
    event text not null                         -- Event, JSON
  )`,
  `create index events_account on events (account_id, id)`
]

// Last reports of the runners of a cluster, see RunnerBoard. A process alone has none.
const runners = [
  `create table runners (
    name text primary key,                      -- address in the cluster
    version text not null,
    started_at timestamptz not null,
    seen_at timestamptz not null,
    partitions integer not null,
    healthy integer not null,
    failing integer not null,
    late integer not null,
    polls integer,                              -- of the last minute; null: in the first one
    delivered integer,
    failed_deliveries integer,
    cpu double precision not null,              -- cores
    event_loop double precision not null,       -- share of the time
    memory bigint not null                      -- bytes
  ) with (fillfactor = 50)`
]

const resources = [
  // Cold: written when the resource is created, by maintenance, and when the header of the feed changes.
  `create table resources (
    id bigint generated always as identity primary key,
    key bytea not null unique,                  -- first 16 bytes of SHA-256(url): a topic can be longer than an index key
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
    created_at timestamptz not null,
    unwatched_since timestamptz default '-infinity' -- null while a subscription is active; -infinity: none ever was
  )`,
  `create index resources_unwatched on resources (partition, unwatched_since) where unwatched_since is not null`,
  `create index resources_partition on resources (partition, id)`,
  `create index resources_host on resources (host)`,
  `create index resources_url_trgm on resources using gin (url gin_trgm_ops)`,
  // The fragments of a page, by the hash of its URL.
  `create index resources_fragments on resources (md5(split_part(url, '#', 1))) where url like '%#%'`,
  // An unknown rank counts as 0. Maintenance changes velocity, popularity and porn_rank at most once a day; bozo_rank rarely changes.
  `create index resources_velocity on resources ((coalesce(velocity, 0)))`,
  `create index resources_popularity on resources ((coalesce(popularity, 0)))`,
  `create index resources_porn_rank on resources ((coalesce(porn_rank, 0)))`,
  `create index resources_bozo_rank on resources ((coalesce(bozo_rank, 0)))`,
  // The plan of a search depends on how common a part of a URL is. The default of 100 samples does not show that.
  `alter table resources alter column url set statistics 500`,

  // Hot and narrow: every poll updates one row in place. The primary key is the only index, because an index on
  // next_fetch forces a new row version into every index (2.5 to 6 times slower).
  `create table schedule (
    resource_id bigint primary key references resources on delete cascade,
    next_fetch timestamptz not null,
    last_fetch timestamptz,
    period integer not null,                    -- seconds
    http_code smallint,                         -- 0: no answer
    partition smallint not null,                -- of the resource: a start reads this table alone, in the gap behind http_code
    failures integer not null default 0
  ) with (fillfactor = 70)`,

  // Warm: written when the document changes.
  `create table resource_state (
    resource_id bigint primary key references resources on delete cascade,
    http_message text,
    last_parse timestamptz,
    last_unconditional_fetch timestamptz,
    etag text,
    last_modified text,
    fingerprint bigint,                         -- of the body
    in_error boolean not null default false,
    entries_since_maintenance integer not null default 0,
    seen bytea not null default '',             -- packed fingerprints of entry ids, newest first, bounded: see SeenIds
    slices bytea not null default '',           -- packed fingerprints of the entry slices of the last document
    content_type text,                          -- with document: the current representation of a resource that is not a feed
    document bytea,
    sequence bigint not null default 0,         -- of its last notification
    server_profile text,                        -- ServerProfile, JSON; null when empty
    fetches bytea not null default ''           -- packed records of the last fetches that changed the state, newest first: see FetchRecord
  ) with (fillfactor = 80)`,

  // Searches for failing resources. The flag changes rarely, so that other updates stay in their page.
  `create index resource_state_in_error on resource_state (resource_id) where in_error`,

  // The last versions of a document that is no feed. See DocumentVersion.
  `create table document_versions (
    resource_id bigint not null references resources on delete cascade,
    id bigint generated always as identity,
    content_type text not null,
    document bytea not null,
    created_at timestamptz not null,
    primary key (resource_id, id)
  )`,

  `create table entries (
    resource_id bigint not null,
    seq bigint generated always as identity,    -- order of arrival
    hash bigint not null,                       -- fingerprint of the id; a look-up also compares the id in the body
    published timestamptz,
    first_seen timestamptz not null,
    body text not null,                         -- Entry, JSON
    primary key (resource_id, seq)
  )`,
  `create unique index entries_hash on entries (resource_id, hash)`,
  `create index entries_newest on entries (resource_id, coalesce(published, first_seen), seq)`,
  ...sampleLess("entries", ["resource_id", "seq", "hash", "published", "first_seen", "body"]),
  `alter index entries_newest alter column 2 ${fewStatistics}`, // its expression

  // Bytes stored for resources without a subscription of an account. Deletions are subtracted by the next count.
  `create table strangers_bytes (
    partition smallint primary key,
    bytes double precision not null,
    counted_at timestamptz                      -- null: never
  )`,

  // Pauses that hosts asked for, by the partition that received the answer. See HostPauses.
  `create table host_pauses (
    partition smallint not null,
    host text not null,
    paused_since timestamptz not null,
    paused_until timestamptz not null,
    primary key (partition, host)
  )`,
  `create index host_pauses_until on host_pauses (paused_until)`
]

const subscriptions = [
  // Each notification updates next_sequence. At fillfactor 60, 92 % of these updates stay in their page and out of the indexes; at 80, 44 %.
  `create table subscriptions (
    id bigint generated always as identity primary key,
    account_id integer not null references accounts on delete cascade,
    resource_id bigint not null references resources,
    topic text not null,                        -- as the subscriber wrote it
    channel smallint not null,                  -- 0 webhook, 1 xmpp, 2 null
    endpoint text not null,                     -- callback URL or bare JID
    host text not null,                         -- host of the callback, domain of the JID
    format smallint,                            -- 0 atom, 1 json, 2 atom for feeds only, 3 json for feeds only; null: Atom for feeds, raw bytes otherwise
    secret bytea,                               -- sealed, see SecretBox
    previous_secret bytea,                      -- sealed; signs beside the secret until previous_secret_until
    previous_secret_until timestamptz,
    headers bytea,                              -- OwnHeader[], JSON, sealed
    face smallint not null,                     -- 0 api, 1 hub
    state smallint not null,                    -- 0 pending, 1 active, 2 paused
    lease_until timestamptz,
    next_sequence bigint not null default 1,    -- of its next notification; the transaction that inserts the delivery increments it
    run_start bigint,                           -- first sequence of its last run, see domain/delivery/SequenceRuns
    run_offset bigint,                          -- sequence less number of the resource; null: no numbered notification
    earlier_runs bigint[],                      -- start and offset of each earlier run, bounded
    created_at timestamptz not null,
    signature_method smallint,                  -- 0 sha1, 1 sha256, 2 sha384, 3 sha512; null: both sha1 and sha256
    on_trial boolean not null default false,
    network text,                               -- of the address at which the callback agreed; null on the api face
    asker text,                                 -- network of the client that asked last; null on the api face
    retry smallint,                             -- 0 short, 1 days; null: the default of the face
    failing_since timestamptz,                  -- first failed attempt after the last success; null: not failing
    failing_announced smallint not null default 0, -- milestones of the failing that are announced
    labels text[] not null default '{}',        -- in the order of the subscriber, see domain/Labels
    unique (resource_id, account_id, endpoint, face)
  ) with (fillfactor = 60)`,
  `create index subscriptions_account on subscriptions (account_id, id)`,
  `create index subscriptions_resources on subscriptions (account_id, resource_id)`,
  `create index subscriptions_failing on subscriptions (account_id, id) where failing_since is not null`,
  `create index subscriptions_labels on subscriptions using gin (labels) where labels <> '{}'`,
  // The order of an OPML export: by the folder, which is the first label.
  `create index subscriptions_folder on subscriptions (account_id, (labels[1] collate "C"), id) where labels <> '{}'`,
  `create index subscriptions_host on subscriptions (account_id, host, id)`,
  // One callback can have half a million subscriptions: a hash index on endpoint would walk all of them for each insert.
  `create index subscriptions_endpoint on subscriptions (account_id, hashtextextended(endpoint, 0), id)`,
  `create index subscriptions_endpoint_trgm on subscriptions using gin (endpoint gin_trgm_ops)`,
  `create index subscriptions_lease on subscriptions (lease_until) where lease_until is not null`,
  // Counts the hub face by site. Hosts of one site have the same end, so the index reverses them: "com.example.hooks.".
  `create index subscriptions_hub_site on subscriptions (((reverse(rtrim(host, '.')) || '.') collate "C")) where account_id = 0`,
  `create index subscriptions_network on subscriptions (network) where network is not null`,
  // Each presence of a JID or domain reads these: the account may have many subscriptions, few of them paused.
  `create index subscriptions_halted on subscriptions (hashtextextended(endpoint, 0), id) where state = 2 or on_trial`,
  `create index subscriptions_halted_host on subscriptions (account_id, host, id) where state = 2 or on_trial`,
  `alter table subscriptions alter column endpoint set statistics 500`,

  // Bounced notifications by subscription, and trials of paused subscriptions. See BounceStore.
  `create table bounces (
    subscription_id bigint primary key references subscriptions on delete cascade,
    count integer not null,
    since timestamptz not null,
    sequence bigint not null,
    last_at timestamptz not null,
    message text not null,
    trials integer not null default 0,
    trial_at timestamptz,                       -- of a paused subscription
    trial_sequence bigint,                      -- of the notification that is on trial
    trial_until timestamptz
  )`,
  `create index bounces_trial on bounces (trial_at) where trial_at is not null`,

  // Ended subscriptions, and subscriptions that their callback denied.
  `create table subscription_ends (
    id bigint primary key,                      -- position in the log, as in delivery_log
    account_id integer not null references accounts on delete cascade,
    subscription_id bigint,                     -- null: its callback denied it
    topic text not null,                        -- as the subscriber wrote it
    endpoint text not null,
    host text not null,                         -- of the endpoint
    sequence bigint,
    attempt smallint,
    result smallint not null,                   -- see DeliveryLogRows
    message text not null,
    answer text,                                -- the beginning of the answer's body
    latency integer,                            -- ms
    bytes integer                               -- of the body that was sent
  )`,
  `create index subscription_ends_account on subscription_ends (account_id, id)`
]

const deliveries = [
  // One row for all subscribers. Notifications of a resource are numbered 1, 2, 3 … without gaps: the transaction takes
  // the number under the lock of the resource's row, so that a reader behind a number misses no later one.
  `create table notifications (
    id bigint generated always as identity primary key,
    resource_id bigint not null,
    kind smallint not null,                     -- 0 entries, 1 document, 2 failure
    status text not null,                       -- Status without feed at that time, JSON
    header text,                                -- FeedHeader at that time, JSON
    entry_seqs bigint[],                        -- in the order of the notification
    content_type text,
    document bytea,
    created_at timestamptz not null,
    sequence bigint not null
  )`,
  `create unique index notifications_sequence on notifications (resource_id, sequence)`,
  ...sampleLess("notifications", [
    "id",
    "resource_id",
    "kind",
    "status",
    "header",
    "entry_seqs",
    "content_type",
    "document",
    "created_at",
    "sequence"
  ]),

  // The outbox: one row per subscription. A foreign key would cost a look-up per insert. The update of next_sequence
  // orders a fan-out against the removal of its subscription, which deletes the subscription first, then its deliveries.
  `create table deliveries (
    id bigint generated always as identity primary key,
    notification_id bigint not null,
    subscription_id bigint not null,
    sequence bigint not null,                   -- 1, 2, 3 … of the subscription
    partition smallint not null,                -- of the subscription's resource
    state smallint not null default 0,          -- 0 waiting, 1 dropped, 2 delivered: a part, whose row alone tells its entries
    attempt smallint not null default 0,        -- failed tries
    requested_wait integer,                     -- ms that the callback asked to wait for the next try
    entry_seqs bigint[],                        -- of a part; null: all entries of the notification
    resent boolean not null default false,      -- the callback accepted this sequence before
    credits bigint not null,                    -- balance after this notification
    due_at timestamptz not null,
    last_code smallint,
    last_error text,
    created_at timestamptz not null
  ) with (fillfactor = 80)`,
  // Two partial indexes: the first waiting delivery is found without reading a thousand dropped ones.
  `create unique index deliveries_waiting on deliveries (subscription_id, sequence) where state = 0`,
  `create unique index deliveries_dropped on deliveries (subscription_id, sequence) where state = 1`,
  `create unique index deliveries_delivered on deliveries (subscription_id, sequence) where state = 2`,
  `create index deliveries_waiting_partition on deliveries (partition, subscription_id, sequence) where state = 0`,
  `create index deliveries_expired on deliveries (due_at) where state = 1`,

  // The last failures and successes: a fixed number of slots per subscription bounds the log. The indexes begin with the account and end with
  // result and id, so that a page of any filter reads few rows. No foreign key, as in the outbox.
  `create sequence log_positions`,
  `create table delivery_log (
    id bigint not null,                         -- epoch ms of the attempt * 2^21 + 21 bits of log_positions: the order of all pages
    subscription_id bigint not null,
    resource_id bigint not null,
    notification_id bigint,                     -- null: a bounce
    sequence bigint not null,
    credits bigint,
    next_try timestamptz,                       -- null: no further attempt
    account_id integer not null,
    host_key integer not null,                  -- hash of the callback's host
    latency integer,                            -- ms
    bytes integer,                              -- of the body that was sent
    slot smallint not null,                     -- see domain/delivery/DeliveryLogEntry
    attempt smallint not null,                  -- 1: the first try; 0: a bounce
    result smallint not null,                   -- see DeliveryLogRows
    is_part boolean not null default false,     -- of a split notification
    message text,                               -- null: the result tells it
    answer text,                                -- the beginning of a bad answer's body
    primary key (subscription_id, slot)
  )`,
  `create index delivery_log_result on delivery_log (account_id, result, id)`,
  `create index delivery_log_host on delivery_log (account_id, host_key, result, id)`,
  `create index delivery_log_resource on delivery_log (account_id, resource_id, result, id)`,

  // Subscriptions whose attempts are all recorded.
  `create table delivery_recordings (
    subscription_id bigint primary key references subscriptions on delete cascade,
    account_id integer not null,
    until timestamptz not null
  )`,
  `create index delivery_recordings_account on delivery_recordings (account_id, until)`,

  // Replayed notifications: few, and deleted soon.
  `create table replays (
    delivery_id bigint primary key,
    notification_id bigint not null,
    account_id integer not null,
    bytes integer not null,                     -- of its document
    created_at timestamptz not null
  )`
]

const websub = [
  `create table pings (
    id bigint generated always as identity primary key,
    account_id integer references accounts on delete cascade, -- null: through the open hub
    topic text not null,                        -- as the publisher wrote it
    resource_id bigint,                         -- null: an unknown topic
    with_content boolean not null,
    received_at timestamptz not null,
    outcome smallint,                           -- 0 no subscriber, 1 unchanged, 2 changed, 3 failed; null: not fetched yet
    entries integer,                            -- new entries of a feed
    code smallint,                              -- of the fetch
    message text,                               -- why the fetch failed
    answered_at timestamptz
  )`,
  `create index pings_account on pings (account_id, id)`,
  `create index pings_topic on pings (hashtextextended(topic, 0), id) where account_id is null`,
  `create index pings_waiting on pings (resource_id) where outcome is null`,

  // Requests to callbacks that wait to be sent. Requests about one topic and callback are sent in order of id.
  `create table verifications (
    id bigint generated always as identity primary key,
    key bytea not null,                         -- SHA-256 of account, face, topic and endpoint
    site text not null,                         -- registrable domain of the callback, or account
    request bytea not null,                     -- see VerificationQueue, JSON, sealed, see SecretBox
    digest bytea not null,                      -- of the JSON under a key: finds repetitions
    due_at timestamptz not null,                -- a minute ahead while a runner sends the request
    queue smallint not null default 0,          -- 0 new subscriptions of the hub face, 1 existing ones, 2 accounts
    claimed boolean not null default false,     -- a runner sends the request, or crashed while sending
    asker text not null,                        -- address of the client, or account
    network text not null,                      -- network of the client, or account
    target text not null                        -- network that the callback's name resolves to
  )`,
  `create index verifications_key on verifications (key, id)`,
  `create index verifications_due on verifications (queue, due_at)`,
  `create index verifications_site on verifications (site)`,
  `create index verifications_network on verifications (queue, network, due_at, id)`,
  `create index verifications_newest on verifications (queue, network, id)`,
  `create index verifications_claimed on verifications (queue) where claimed`,

  `create table verification_pacing (
    site text primary key,
    requested_at double precision[] not null    -- epoch ms of the last requests, as many as a minute allows
  )`,

  // Windhover's own subscriptions at publishers' hubs.
  `create table hub_subscriptions (
    resource_id bigint primary key references resources (id) on delete cascade,
    partition smallint not null,
    hubs text not null,                         -- advertised URLs, JSON
    hub text not null,                          -- the chosen one
    topic text not null,                        -- URL of the resource at the hub
    state smallint not null,                    -- 0 idle, 1 asked, 2 active, 3 leaving
    callback text,                              -- last part of the callback's path; set together with the secret
    secret bytea,                               -- sealed, see SecretBox
    lease_until timestamptz,
    due_at timestamptz,                         -- of the next step; null: no step is due
    failures integer not null,
    reliable boolean not null,                  -- pushes arrive before polls find the entries
    problem text,
    revision integer not null
  )`,
  `create unique index hub_subscriptions_callback on hub_subscriptions (callback)`,
  `create index hub_subscriptions_partition on hub_subscriptions (partition)`,
  `create index hub_subscriptions_hub on hub_subscriptions (hub)`,

  // Reliability of hubs. Retention deletes the counts of unused hubs.
  `create table hubs (
    hub text primary key,
    pushed_documents bigint not null,
    missed_entries bigint not null,             -- found by polls instead
    consecutive_misses integer not null,        -- reliable resources with a missed push since the hub's last push
    counted_at timestamptz not null default now()
  )`,
  `create index hubs_counted on hubs (counted_at)`,
  `create index hubs_consecutive_misses on hubs (consecutive_misses)`
]

export const statements: ReadonlyArray<string> = [
  `create extension if not exists pg_trgm`,
  ...encryption,
  ...accounts,
  ...runners,
  ...resources,
  ...subscriptions,
  ...deliveries,
  ...websub
]
