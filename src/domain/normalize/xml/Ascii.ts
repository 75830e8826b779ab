/** Codes of the ASCII characters of markup. They are the same for bytes and for UTF-16 units. */
const TAB = 9
const LINE_FEED = 10
const RETURN = 13
export const SPACE = 32
export const BANG = 33
export const DOUBLE_QUOTE = 34
export const QUOTE = 39
export const DASH = 45
export const SLASH = 47
export const COLON = 58
export const LESS = 60
export const EQUALS = 61
export const GREATER = 62
export const QUESTION = 63
export const OPEN_BRACKET = 91
export const CLOSE_BRACKET = 93

/** White space of XML. `NaN`, the code behind the end of a text, is none. */
export const isSpace = (code: number): boolean =>
  code <= SPACE && (code === SPACE || code === LINE_FEED || code === RETURN || code === TAB)

/** Whether a name ends before this code. One comparison tells letters. */
export const isNameEnd = (code: number): boolean =>
  code <= GREATER && (code === GREATER || code === SLASH || code === LESS || isSpace(code))

export const isLetter = (code: number): boolean => (code >= 97 && code <= 122) || (code >= 65 && code <= 90)

/** Whether a name may start with this code. Any character beyond ASCII may. */
export const isNameStart = (code: number): boolean =>
  (code >= 97 && code <= 122) || (code >= 65 && code <= 90) || code === 95 || code === COLON || code > 127
