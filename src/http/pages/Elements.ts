/** Custom elements: a file in `elements`, and a line here. */
export const elementNames = [
  "api-call",
  "copy-text",
  "live-feed",
  "selector-tester",
  "time-ago",
  "traffic-curve"
] as const

export type ElementName = typeof elementNames[number]

/** Elements of every page. */
export const commonElements: ReadonlyArray<ElementName> = ["copy-text", "time-ago"]
