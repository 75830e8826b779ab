import type { Reader } from "./ElementContext.ts"
import type { Draft } from "./Draft.ts"
import { words } from "./Texts.ts"

const MOST_NAMES = 64
const MOST_VALUES = 32

/** Keeps a simple value of a namespace under its name; a second one makes a list. */
export const extendWith = (draft: Draft, namespace: string, name: string, value: string | undefined): void => {
  if (value === undefined) return
  const names = (draft.extensions ??= {})[namespace] ??= {}
  const known = names[name]
  if (known === undefined) {
    if (Object.keys(names).length < MOST_NAMES) names[name] = value
  } else if (typeof known === "string") names[name] = [known, value]
  else if (known.length < MOST_VALUES) known.push(value)
}

/** A reader that keeps an element's text. */
export const extend = (namespace: string): Reader => (element, draft) =>
  extendWith(draft, namespace, element.name, words(element))
