/**
 * The hub face: subscriptions without an account, and questions to callbacks that wait for their turn.
 */
export const statements: ReadonlyArray<string> = [
  // Owns all subscriptions of the hub face. Identities start at 1, and no login is spelled so: nobody can have it, or log in with it.
  `insert into accounts (id, login, password_hash, created_at) overriding system value values (0, '(hub)', '', to_timestamp(0))`,

  `alter table subscriptions add column signature smallint`, // 0 sha1, 1 sha256, 2 sha384, 3 sha512; null: sha1 with sha256 beside it
  `create index subscriptions_lease on subscriptions (lease_until) where lease_until is not null`,

  `create table questions (
    id bigint generated always as identity primary key,
    key bytea not null unique,                  -- SHA-256 of what is asked about: account, face, topic, endpoint
    site text not null,                         -- registrable domain of the callback
    question text not null,                     -- Question, JSON
    revision integer not null default 1,        -- moved when a later request takes the place of this one
    due_at timestamptz not null                 -- a minute ahead while somebody asks it
  )`,
  `create index questions_due on questions (due_at)`,
  `create index questions_site on questions (site)`,

  // When a site was last asked, epoch milliseconds: as many times as it may be asked in a minute.
  `create table question_turns (
    site text primary key,
    turns double precision[] not null
  )`
]
