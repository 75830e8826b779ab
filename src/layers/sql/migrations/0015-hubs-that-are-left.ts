/** Counts of hubs that nobody asks any more are deleted some time after the last one. */
export const statements: ReadonlyArray<string> = [
  `alter table hubs add column counted_at timestamptz not null default now()`,
  `create index hubs_counted on hubs (counted_at)`,
  `create index hubs_strikes on hubs (strikes)`,
  `create index upstreams_hub on upstreams (hub)`
]
