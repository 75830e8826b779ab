/** Characters of a callback's name, at most. */
const maxFunctionNameLength = 128

const identifier = "[A-Za-z_$][\\w$]*"

const namePattern = new RegExp(`^${identifier}(?:\\.${identifier}|\\[\\d{1,9}\\])*$`)

/** True for a name, a path of names or an index. Statements, calls and ends of a script are not names. */
export const isJsonpName = (name: string): boolean => name.length <= maxFunctionNameLength && namePattern.test(name)

/** A script that passes JSON to the function `name`. Escapes U+2028 and U+2029, because they end a line in older scripts. */
export const wrap = (name: string, json: string): string =>
  `${name}(${json.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")})`
