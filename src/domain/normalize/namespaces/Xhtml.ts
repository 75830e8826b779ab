import { addContent } from "#domain/normalize/FieldReaders.ts"
import type { Namespace } from "./Namespace.ts"

/** An XHTML body as content. */
export const xhtml: Namespace = {
  key: "xhtml",
  uris: ["http://www.w3.org/1999/xhtml"],
  vocabulary: {
    body: addContent,
    div: addContent
  }
}
