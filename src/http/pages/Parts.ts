import { attributes, type Html, html, type HtmlValue } from "./Html.ts"

/** Parts that several pages share. */

export interface Column<Row> {
  readonly title: string
  readonly cell: (row: Row) => HtmlValue
  /** Numbers stand right, with digits of one width. */
  readonly kind?: "text" | "number" | "actions"
}

/**
 * A table. On a narrow screen, each row becomes a block whose lines name their columns.
 *
 * `caption` names the table for a screen reader. `empty` replaces a table without rows.
 */
export const table = <Row>(
  caption: string,
  columns: ReadonlyArray<Column<Row>>,
  rows: ReadonlyArray<Row>,
  empty: HtmlValue
): Html =>
  rows.length === 0 ? html`<div class="empty">${empty}</div>` : html`<table role="table">
<caption class="unseen">${caption}</caption>
<thead role="rowgroup"><tr role="row">${
    columns.map(({ kind = "text", title }) =>
      html`<th role="columnheader" scope="col" class="${kind}">${
        kind === "actions" ? html`<span class="unseen">${title}</span>` : title
      }</th>`
    )
  }</tr></thead>
<tbody role="rowgroup">${
    rows.map((row) =>
      html`<tr role="row">${
        columns.map(({ cell, kind = "text", title }) =>
          html`<td role="cell" class="${kind}" ${
            attributes({ "data-label": kind === "actions" ? undefined : title })
          }>${cell(row)}</td>`
        )
      }</tr>
`
    )
  }</tbody>
</table>`

/** Links to the first and to the next page of a list. `query` are the other parameters of the page. */
export const pager = (
  path: string,
  query: { readonly [name: string]: string | undefined },
  { cursor, next }: { readonly cursor: string | undefined; readonly next: string | undefined }
): Html | undefined => {
  if (cursor === undefined && next === undefined) return undefined
  const link = (position: string | undefined) => withQuery(path, { ...query, cursor: position })
  return html`<nav class="pager" aria-label="Pages">${
    cursor === undefined ? undefined : html`<a href="${link(undefined)}">First page</a>`
  }${next === undefined ? undefined : html`<a href="${link(next)}" rel="next">Next page</a>`}</nav>`
}

/** A path with a query. Absent values are left out. */
export const withQuery = (path: string, query: { readonly [name: string]: string | number | undefined }): string => {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value))
  return parameters.size === 0 ? path : `${path}?${parameters}`
}

/** Names with values, as on the page of one thing. Pairs without a value are left out. */
export const facts = (pairs: ReadonlyArray<readonly [name: string, value: HtmlValue]>): Html =>
  html`<dl class="facts">${
    pairs.filter(([, value]) => value !== undefined && value !== null).map(([name, value]) =>
      html`<div><dt>${name}</dt><dd>${value}</dd></div>`
    )
  }</dl>`

/** Tone of a state: the dot has its color, and the text says the same. */
export type Tone = "good" | "warn" | "bad" | "idle"

export const status = (tone: Tone, text: string): Html => html`<span class="status ${tone}">${text}</span>`

const units = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1_000]] as const

/** A duration in its greatest unit, such as `3 min`. */
export const duration = (ms: number): string => {
  const [unit, length] = units.find(([, length]) => Math.abs(ms) >= length) ?? ["s", 1_000]
  return `${Math.trunc(Math.abs(ms) / length)} ${unit}`
}

/** A time as its distance from now; the title has the time itself. */
export const ago = (at: number | undefined, now: number): Html => {
  if (at === undefined || !Number.isFinite(at) || Math.abs(at) > 8.64e15) return html`<span class="muted">–</span>`
  const iso = new Date(at).toISOString()
  const text = at > now ? `in ${duration(at - now)}` : `${duration(now - at)} ago`
  return html`<time-ago><time datetime="${iso}" title="${
    iso.slice(0, 19).replace("T", " ")
  } UTC">${text}</time></time-ago>`
}

/** A whole number with thousands apart. */
export const count = (value: number): string => Math.round(value).toLocaleString("en")

/** Text of a stranger: isolated, so that its direction does not spread. */
export const foreign = (text: string): Html => html`<bdi>${text}</bdi>`

/** A URL of a stranger, as text that breaks anywhere. */
export const address = (url: string): Html => html`<bdi class="address">${url}</bdi>`

/** Characters of a URL in a list. */
const maxListedLength = 120

/** A URL of a stranger in a list: a long one loses its middle, and its title has all of it. */
export const shortAddress = (url: string, before = ""): Html => {
  const shown = shorten(url)
  return html`<bdi class="address" ${attributes({ title: shown === url ? undefined : url })}>${before}${shown}</bdi>`
}

/** Leaves out the middle of a long text. */
const shorten = (text: string): string =>
  text.length <= maxListedLength ? text : `${text.slice(0, maxListedLength - 30)}…${text.slice(-29)}`

/** A link of this service to a page about `label`. */
export const link = (path: string, label: HtmlValue): Html => html`<a href="${path}">${label}</a>`

/** A section with a heading. */
export const section = (title: string, body: HtmlValue, tools?: HtmlValue): Html =>
  html`<section><div class="title"><h2>${title}</h2>${tools}</div>${body}</section>`

/** Lines of code, with a button to copy them. */
export const code = (text: string): Html =>
  html`<copy-text class="code"><pre tabindex="0"><code>${text}</code></pre></copy-text>`
