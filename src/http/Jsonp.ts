/** Characters of a callback's name, at most. */
const maxNameLength = 128

const identifier = "[A-Za-z_$][\\w$]*"

const namePattern = new RegExp(`^${identifier}(?:\\.${identifier}|\\[\\d{1,9}\\])*$`)

/** A name, a path of names or an index: nothing that could be a statement, a call or an end of the script. */
export const isJsonpName = (name: string): boolean => name.length <= maxNameLength && namePattern.test(name)

/** JSON as a script that hands it to `name`. U+2028 and U+2029 end a line in older scripts. */
export const wrap = (name: string, json: string): string =>
  `${name}(${json.replaceAll("\u2028", "\\u2028").replaceAll("\u2029", "\\u2029")})`
