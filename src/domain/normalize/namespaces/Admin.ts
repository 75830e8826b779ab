import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { extendWith } from "#domain/normalize/Extensions.ts"
import { value } from "#domain/normalize/xml/Element.ts"

/** RSS 1.0 administration: the generator by its address. */
export const admin: Vocabulary = {
  generatoragent: (element, draft) => {
    const uri = value(element, "resource")
    if (uri !== undefined) draft.generator ??= { name: uri, uri }
  },
  errorreportsto: (element, draft) => extendWith(draft, "admin", "errorReportsTo", value(element, "resource"))
}
