/** What polls learn of a publisher's server; and the fragments of a page, which are pinged with it. */
export const statements: ReadonlyArray<string> = [
  `alter table resource_state add column learned text`, // Learned, JSON; null where nothing was learned
  // A topic may exceed what an index key can hold: hence the hash.
  `create index resources_fragments on resources (md5(split_part(url, '#', 1))) where url like '%#%'`
]
