/**
 * Control characters of publishers and callbacks: a terminal obeys them, and the bidirectional ones show a text in another order.
 *
 * C0 without tab and line ends, DEL, C1, and the embeddings, overrides and isolates of Unicode (UAX 9). The marks U+200E, U+200F and
 * U+061C stay in stored texts, because Hebrew and Arabic titles need them.
 */
const storedControls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]+/g

/** Characters that a terminal gets in no text: also the marks, and the line ends of Unicode. */
const terminalControls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

/** Removes control characters from a text that is stored. */
export const stripControls = (text: string): string => text.replace(storedControls, "")

/** Removes control characters, and joins lines: for the text of a status. */
export const toSingleLine = (text: string): string => stripControls(text.replace(/[\t\n\r]+/g, " "))

/** Replaces control characters by U+FFFD in a text for a terminal, except tabs and line feeds. */
export const toPrintable = (text: string): string => text.replace(terminalControls, "\ufffd")

/** Like `toPrintable`, for a field within a line: tabs and line feeds would forge a column or a line. */
export const toPrintableField = (text: string): string => toPrintable(text.replace(/[\t\n\r]+/g, " "))

/** Escapes control characters in JSON, without a change of its meaning. */
export const escapeInJson = (json: string): string =>
  json.replace(terminalControls, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)

/** Escapes control characters in XML, without a change of its meaning. XML has no C0 characters but tabs and line ends. */
export const escapeInXml = (xml: string): string =>
  xml.replace(
    terminalControls,
    (character) => character < " " ? "\ufffd" : `&#x${character.charCodeAt(0).toString(16)};`
  )

/** Removes control characters from all strings of plain JSON. Returns the same value if there are none. */
export const stripControlsIn = <A>(value: A): A => {
  if (typeof value === "string") return stripControls(value) as A
  if (Array.isArray(value)) return keepUnchanged(value, value.map(stripControlsIn)) as A
  if (value === null || typeof value !== "object") return value
  const before = Object.values(value)
  const after = keepUnchanged(before, before.map(stripControlsIn))
  return after === before ? value : Object.fromEntries(Object.keys(value).map((key, i) => [key, after[i]])) as A
}

const keepUnchanged = <A>(before: ReadonlyArray<A>, after: ReadonlyArray<A>): ReadonlyArray<A> =>
  after.every((value, i) => value === before[i]) ? before : after
