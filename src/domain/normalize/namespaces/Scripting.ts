import { readExtension } from "#domain/normalize/Extensions.ts"
import type { Namespace } from "./Namespace.ts"

/** Dave Winer's `source` namespace: the Markdown, account and replies of an item. */
export const scripting: Namespace = {
  key: "source",
  uris: ["http://source.scripting.com"],
  vocabulary: {
    markdown: readExtension("source"),
    account: readExtension("source"),
    inreplyto: readExtension("source"),
    likes: readExtension("source"),
    localtime: readExtension("source"),
    self: readExtension("source")
  }
}
