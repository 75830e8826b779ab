import { addContent } from "#domain/normalize/FieldReaders.ts"
import type { Namespace } from "./Namespace.ts"

/** A body of XHTML beside the description. */
export const xhtml: Namespace = {
  key: "xhtml",
  uris: ["http://www.w3.org/1999/xhtml"],
  vocabulary: {
    body: addContent,
    div: addContent
  }
}
