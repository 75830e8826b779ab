/** Namespace of the attributes that an export adds to outlines, with its usual prefix. */
export const namespace = "urn:windhover:opml"

/** Attributes of an outline with the settings of its subscription. Other readers ignore these. */
export const attributes = {
  callback: "windhover:callback",
  jid: "windhover:jid",
  null: "windhover:null",
  format: "windhover:format",
  feedsOnly: "windhover:feedsonly",
  retry: "windhover:retry",
  state: "windhover:state",
  /** A JSON list. */
  labels: "windhover:labels"
} as const
