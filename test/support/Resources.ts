import type { ResourceState } from "#domain/poll/Resource.ts"

/** State of a resource before its first fetch, with overrides. */
export const initialState = (known: Partial<ResourceState> = {}): ResourceState => ({
  id: 1,
  url: "http://feeds.example/a.xml",
  host: "feeds.example",
  partition: 0,
  nextFetch: 0,
  period: 900,
  failures: 0,
  kind: "unknown",
  inError: false,
  seen: new Uint8Array(),
  slices: new Uint8Array(),
  generatedIds: false,
  entriesSinceMaintenance: 0,
  subscribers: 0,
  ...known
})
