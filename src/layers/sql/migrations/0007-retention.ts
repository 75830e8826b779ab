/** Deliveries that were given up are deleted by age. */
export const statements: ReadonlyArray<string> = [
  `create index deliveries_expired on deliveries (due_at) where state = 1`
]
