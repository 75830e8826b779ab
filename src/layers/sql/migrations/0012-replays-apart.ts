/** Notifications that were told again: few, and deleted soon. */
export const statements: ReadonlyArray<string> = [
  `create table replays (
    delivery_id bigint primary key,
    notification_id bigint not null,
    account_id integer not null,
    bytes integer not null,                     -- of its document
    created_at timestamptz not null
  )`
]
