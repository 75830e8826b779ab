import { AttachedValue } from "#domain/AttachedValue.ts"

/** Maximum of characters of a text that stays attached. 10 entries of a usual feed have 20,000, a list of 20 usual subscriptions 4,000. */
const maxAttachedLength = 64 * 1024

/**
 * Makes a renderer that attaches its text to the object, so that requests with the same object render it once. The object must be immutable, and
 * not frozen.
 *
 * The database layer keeps such objects and counts their own text, not this one. Items of a hostile page of 45 kB take 20 MB, because each link
 * repeats the title.
 */
export const renderOnce = <O extends object>(render: (object: O) => string) => {
  const attached = new AttachedValue<O, string>()
  return (object: O): string => {
    const known = attached.get(object)
    if (known !== undefined) return known
    const text = render(object)
    if (text.length <= maxAttachedLength) attached.set(object, text)
    return text
  }
}
