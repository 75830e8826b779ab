/**
 * Finds texts in which JavaScript may print a number in other digits: 16 digits or more, an exponent, a zero at the end of a decimal, a
 * negative zero, a tiny decimal. Strings may match as well, which costs time only.
 */
const mayLoseDigits = /(?:\d\.?){16}|\d[eE][+-]?\d+\s*(?:[,}\]]|$)|\.\d*0\s*(?:[,}\]]|$)|-0\s*(?:[,}\]]|$)|0\.0{6}/

/** True for a text that `parseExactJson` reads in another way than `JSON.parse`, and for some other texts. */
export const mayNeedExactJson = (text: string): boolean => mayLoseDigits.test(text)

/**
 * Parses JSON, and replaces each number that JavaScript would print in other digits.
 *
 * `replace` receives the digits of the document. Ids of 64 bits are the usual case. Throws a `SyntaxError` for invalid JSON.
 */
export const parseExactJson = (text: string, replace: (source: string) => unknown): unknown => {
  const plain: unknown = JSON.parse(text)
  if (!mayNeedExactJson(text)) return plain
  const revive = (_: string, value: unknown, context?: { readonly source?: string }): unknown => {
    const source = context?.source
    return typeof value !== "number" || source === undefined || String(value) === source ? value : replace(source)
  }
  try {
    return JSON.parse(text, revive)
  } catch (error) {
    // A reviver recurses, so that some 5,000 levels are too deep.
    if (error instanceof RangeError) return plain
    throw error
  }
}
