/** Some clients see the entries of XMPP notifications in another namespace only. */
export const statements: ReadonlyArray<string> = [
  `alter table accounts add column legacy_item_namespace boolean not null default false`
]
