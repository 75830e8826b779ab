import { addExtension } from "#domain/normalize/Extensions.ts"
import { getValue } from "#domain/normalize/xml/Element.ts"
import type { Namespace } from "./Namespace.ts"

/** RSS 1.0 administration: the URL of the generator. */
export const admin: Namespace = {
  key: "admin",
  uris: ["http://webns.net/mvcb"],
  vocabulary: {
    generatoragent: (element, draft) => {
      const uri = getValue(element, "resource")
      if (uri !== undefined) draft.generator ??= { name: uri, uri }
    },
    errorreportsto: (element, draft) => addExtension(draft, "admin", "errorReportsTo", getValue(element, "resource"))
  }
}
