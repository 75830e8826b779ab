import { type ListLine, type ListReader, tooLong } from "./ListLine.ts"
import { TextLines } from "./TextLines.ts"

/** Names of columns, in lower case without other signs than letters. */
const columnNames = {
  topic: new Set(["url", "topic", "feed", "feedurl", "xmlurl", "rss", "hubtopic"]),
  endpoint: new Set(["callback", "endpoint", "hubcallback", "jid"]),
  labels: new Set(["label", "labels", "folder", "category", "categories", "tag", "tags", "group"]),
  format: new Set(["format"])
}

type Column = keyof typeof columnNames

interface Header {
  readonly delimiter: string
  /** The meaning of each column; undefined for a column that is not read. */
  readonly columns: ReadonlyArray<Column | undefined>
}

const delimiters = [",", ";", "\t"] as const

/**
 * Reads URLs, one a line, or CSV whose first row names the columns.
 *
 * A URL may contain commas. Without a header row, a line so is one URL, up to the first tab. Empty lines and lines with `#` are comments.
 */
export class UrlListReader implements ListReader {
  readonly #lines = new TextLines()
  /** Null for a list without a header row. */
  #header: Header | null | undefined

  push(text: string): ReadonlyArray<ListLine> {
    return this.#lines.push(text).flatMap((line) => this.#read(line))
  }

  end(): ReadonlyArray<ListLine> {
    return this.#lines.end().flatMap((line) => this.#read(line))
  }

  #read({ line, text }: { readonly line: number; readonly text: string | undefined }): ReadonlyArray<ListLine> {
    if (text === undefined) return [tooLong(line)]
    const trimmed = text.trim()
    if (trimmed === "" || trimmed.startsWith("#")) return []
    if (this.#header === undefined) {
      this.#header = findHeader(text)
      if (this.#header !== null) return []
    }
    return [this.#header === null ? readUrl(line, trimmed) : readRow(line, text, this.#header)]
  }
}

const readUrl = (line: number, text: string): ListLine => ({
  _tag: "Item",
  line,
  item: { topic: (text.split("\t", 1)[0] ?? "").trim(), labels: [] }
})

const findHeader = (text: string): Header | null => {
  for (const delimiter of delimiters) {
    const fields = splitRow(text, delimiter)
    const columns = fields?.map(columnOf) ?? []
    if (columns.includes("topic")) return { delimiter, columns }
  }
  return null
}

const columnOf = (field: string): Column | undefined => {
  const name = field.toLowerCase().replace(/[^a-z]/g, "")
  return (Object.keys(columnNames) as ReadonlyArray<Column>).find((column) => columnNames[column].has(name))
}

const readRow = (line: number, text: string, { columns, delimiter }: Header): ListLine => {
  const fields = splitRow(text, delimiter)
  if (fields === undefined) {
    return { _tag: "Refused", line, reason: "A quoted field does not end in its line, or text follows its end." }
  }
  const valueOf = (column: Column): string => {
    const value = fields[columns.indexOf(column)]
    return value === undefined ? "" : value.trim()
  }
  const endpoint = valueOf("endpoint")
  const format = valueOf("format").toLowerCase()
  if (format !== "" && format !== "atom" && format !== "json") {
    return { _tag: "Refused", line, topic: valueOf("topic"), reason: "The format can be json or atom." }
  }
  return {
    _tag: "Item",
    line,
    item: {
      topic: valueOf("topic"),
      ...(endpoint !== "" && { endpoint }),
      ...(format !== "" && { format }),
      labels: valueOf("labels").split(/[|;]/)
    }
  }
}

/** The fields of a row of CSV (RFC 4180); undefined for wrong quotes. */
const splitRow = (text: string, delimiter: string): ReadonlyArray<string> | undefined => {
  const fields: Array<string> = []
  let at = 0
  while (true) {
    const field = text[at] === "\"" ? readQuoted(text, at + 1) : readPlain(text, at, delimiter)
    if (field === undefined) return undefined
    fields.push(field.value)
    if (field.end >= text.length) return fields
    if (text[field.end] !== delimiter) return undefined
    at = field.end + 1
  }
}

interface Field {
  readonly value: string
  /** Position behind the field. */
  readonly end: number
}

const readPlain = (text: string, start: number, delimiter: string): Field => {
  const found = text.indexOf(delimiter, start)
  const end = found < 0 ? text.length : found
  return { value: text.slice(start, end), end }
}

const readQuoted = (text: string, start: number): Field | undefined => {
  let value = ""
  for (let at = start; at < text.length; at++) {
    const end = text.indexOf("\"", at)
    if (end < 0) return undefined
    value += text.slice(at, end)
    if (text[end + 1] !== "\"") return { value, end: end + 1 }
    value += "\""
    at = end + 1
  }
  return undefined
}
