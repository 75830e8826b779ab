/**
 * Notifications are numbered: 1, 2, 3 … of each resource, without gaps.
 *
 * The number is taken under the lock of the resource's row, so that whoever has read up to one finds everything behind it, later and once:
 * ids of several transactions become visible out of order, and leave holes where one was rolled back.
 */
export const statements: ReadonlyArray<string> = [
  `alter table resource_state add column sequence bigint not null default 0`, // of its last notification
  `alter table notifications add column sequence bigint`,
  `update notifications n set sequence = m.place
  from (select id, row_number() over (partition by resource_id order by id) as place from notifications) m where m.id = n.id`,
  `update resource_state t set sequence = m.last
  from (select resource_id, max(sequence) as last from notifications group by resource_id) m where m.resource_id = t.resource_id`,
  `alter table notifications alter column sequence set not null`,
  `create unique index notifications_sequence on notifications (resource_id, sequence)`
]
