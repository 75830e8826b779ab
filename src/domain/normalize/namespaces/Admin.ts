import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { addExtension } from "#domain/normalize/Extensions.ts"
import { getValue } from "#domain/normalize/xml/Element.ts"

/** RSS 1.0 administration: the generator by its address. */
export const admin: Vocabulary = {
  generatoragent: (element, draft) => {
    const uri = getValue(element, "resource")
    if (uri !== undefined) draft.generator ??= { name: uri, uri }
  },
  errorreportsto: (element, draft) => addExtension(draft, "admin", "errorReportsTo", getValue(element, "resource"))
}
