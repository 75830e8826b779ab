import { Logger } from "effect"
import { toPrintable } from "#domain/ControlCharacters.ts"

/** Characters that JSON leaves as they are, and that move or hide text on a terminal. */
const terminalCharacters = /[\u007f-\u009f\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

const escapeForTerminal = (character: string): string => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`

/** The formats of the log, one line per record. The number of a fiber tells an operator nothing, and is left out. */
export const logFormats = {
  logfmt: Logger.map(Logger.formatLogFmt, (line) => toPrintable(line.replace(/ fiber=#\d+/, ""))),
  json: Logger.map(
    Logger.formatStructured,
    ({ annotations, cause, level, message, timestamp }) =>
      JSON.stringify({ ...annotations, ...(cause === undefined ? {} : { cause }), timestamp, level, message })
        .replace(terminalCharacters, escapeForTerminal)
  )
} as const
