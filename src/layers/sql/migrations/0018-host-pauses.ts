/** Hosts that asked to be left alone, by the partition that heard of it. See `HostPauses`. */
export const statements: ReadonlyArray<string> = [
  `create table host_pauses (
    partition smallint not null,
    host text not null,
    held_since timestamptz not null,
    held_until timestamptz not null,
    primary key (partition, host)
  )`,
  `create index host_pauses_over on host_pauses (held_until)`
]
