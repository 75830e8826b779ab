import { diffLines } from "diff"
import type { Document } from "#domain/delivery/Notification.ts"
import { stripControls } from "#domain/ControlCharacters.ts"
import { decodeDocument } from "#domain/normalize/bytes/DecodeDocument.ts"

/** A line of a difference. `gap` stands for unchanged lines that are left out. */
export interface DifferenceLine {
  readonly kind: "same" | "added" | "removed" | "gap"
  readonly text: string
}

/** Unchanged lines that are kept beside a change. */
const contextLines = 3

/** Lines of one text and of a difference, and characters of a line. */
const maxTextLines = 10_000
const maxLines = 2_000
const maxLineLength = 1_000

/** Bounds of the comparison: its edits, and its time in ms. */
const maxEdits = 2_000
const timeoutMs = 200

/** The changed lines of a document, as people read them; undefined for texts that differ too much. */
export const describeDifference = (before: Document, after: Document): ReadonlyArray<DifferenceLine> | undefined => {
  const changes = diffLines(readableText(before), readableText(after), {
    maxEditLength: maxEdits,
    timeout: timeoutMs
  })
  if (changes === undefined) return undefined
  return foldUnchanged(changes.flatMap(({ added, removed, value }) => {
    const kind = added ? "added" as const : removed ? "removed" as const : "same" as const
    return value.replace(/\n$/, "").split("\n").map((text): DifferenceLine => ({
      kind,
      text: text.slice(0, maxLineLength).toWellFormed()
    }))
  })).slice(0, maxLines)
}

/** Leaves out unchanged lines that are far from a change. */
const foldUnchanged = (lines: ReadonlyArray<DifferenceLine>): ReadonlyArray<DifferenceLine> => {
  const kept = new Set<number>()
  for (const [at, { kind }] of lines.entries()) {
    if (kind === "same") continue
    for (let near = at - contextLines; near <= at + contextLines; near++) kept.add(near)
  }
  const folded: Array<DifferenceLine> = []
  for (const [at, line] of lines.entries()) {
    if (kept.has(at)) folded.push(line)
    else if (folded.at(-1)?.kind !== "gap") folded.push({ kind: "gap", text: "" })
  }
  return folded
}

/** The text of a document in lines: JSON with one value each, and markup with one block each. */
const readableText = ({ body, contentType }: Document): string => {
  const text = stripControls(decodeDocument(body, contentType))
  const lines = /json/i.test(contentType)
    ? splitJson(text)
    : /html|xml/i.test(contentType)
    ? splitMarkup(text)
    : text
  return `${lines.split("\n", maxTextLines).join("\n").trimEnd()}\n`
}

/**
 * JSON as it is written, with a line for each value. Digits stay, because no number is parsed.
 *
 * A string without an end reaches to the end of the text. The pattern would otherwise try each quote behind it again.
 */
const splitJson = (text: string): string => {
  let depth = 0
  return text.replace(/"(?:[^"\\]|\\[^])*"?|[{}[\],]|\s+/g, (token) => {
    const indent = (change: number) => `\n${"  ".repeat(Math.min(Math.max(depth += change, 0), 20))}`
    if (token === "{" || token === "[") return `${token}${indent(1)}`
    if (token === "}" || token === "]") return `${indent(-1)}${token}`
    if (token === ",") return `,${indent(0)}`
    return /^\s/.test(token) ? "" : token
  })
}

/** Elements that begin a line of their own. */
const blocks =
  /<(?=\/?(?:address|article|aside|blockquote|body|br|dd|div|dl|dt|fieldset|figcaption|figure|footer|form|h[1-6]|head|header|hr|li|main|meta|nav|ol|option|p|pre|script|section|style|table|tbody|td|tfoot|th|thead|tr|ul|item|entry|url|loc)\b)/gi

const splitMarkup = (text: string): string =>
  text.replace(/\s+/g, " ").replace(blocks, "\n<").replace(/\n\s*\n/g, "\n").trim()
