import { toPrintableField } from "#domain/ControlCharacters.ts"

/** Renders rows as aligned columns. The first row holds the headings. A cell is one line, without control characters. */
export const renderTable = (cells: ReadonlyArray<ReadonlyArray<string>>): string => {
  const rows = cells.map((row) => row.map(toPrintableField))
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0)))
  return rows.map((row) => row.map((cell, i) => cell.padEnd(widths[i] ?? 0)).join("  ").trimEnd()).join("\n")
}

/** Renders a time in epoch milliseconds as its UTC date. */
export const renderDate = (time: number): string => new Date(time).toISOString().slice(0, 10)

/** Renders a time in epoch milliseconds as its UTC date and time, in seconds. */
export const renderTime = (time: number): string => new Date(time).toISOString().slice(0, 19)
