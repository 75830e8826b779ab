import MarkdownIt from "markdown-it"
import { Html } from "./Html.ts"

/** A document of the project, as a page shows it. */
export interface MarkdownDocument {
  readonly title: string
  /** The whole sentences of the first paragraph, as text. */
  readonly summary: string
  readonly body: Html
  readonly headings: ReadonlyArray<{ readonly id: string; readonly text: string }>
}

/**
 * Renders Markdown. HTML in the text is escaped, and links run no code (`markdown-it` allows neither).
 *
 * `resolveLink` turns a link between files into the address of a page; undefined leaves its text alone.
 */
export const renderMarkdown = (
  text: string,
  resolveLink: (target: string) => string | undefined
): MarkdownDocument => {
  const parser = new MarkdownIt({ html: false, linkify: false, typographer: false })
  const tokens = parser.parse(text, {})
  const headings: Array<{ id: string; text: string }> = []
  const known = new Map<string, number>()
  let title = ""
  let summary = ""
  for (const [i, token] of tokens.entries()) {
    const content = tokens[i + 1]?.content ?? ""
    if (token.type === "heading_open") {
      const id = slugOf(content, known)
      token.attrSet("id", id)
      if (token.tag === "h2") headings.push({ id, text: plainText(content) })
      if (token.tag === "h1" && title === "") title = plainText(content)
    }
    if (token.type === "paragraph_open" && summary === "") summary = wholeSentences(plainText(content))
    relink(token.children ?? [], resolveLink)
  }
  const first = tokens.findIndex(({ tag, type }) => type === "heading_close" && tag === "h1")
  parser.renderer.rules["table_open"] = () =>
    `<div class="scroll" tabindex="0" role="group" aria-label="Table"><table class="plain">\n`
  parser.renderer.rules["table_close"] = () => "</table></div>\n"
  parser.renderer.rules["fence"] = (all, i) =>
    `<pre tabindex="0"><code>${parser.utils.escapeHtml(all[i]?.content ?? "")}</code></pre>\n`
  const body = parser.renderer.render(tokens.slice(first + 1), parser.options, {})
  return { title, summary, headings, body: Html.trusted(body) }
}

type Token = ReturnType<InstanceType<typeof MarkdownIt>["parse"]>[number]

/** Sets the targets of links. A link without a page becomes its text, and an image without a page its description. */
const relink = (tokens: ReadonlyArray<Token>, resolveLink: (target: string) => string | undefined): void => {
  let isPlain = false
  for (const token of tokens) {
    if (token.type === "link_open") {
      const target = resolveLink(String(token.attrGet("href") ?? ""))
      isPlain = target === undefined
      if (target !== undefined) token.attrSet("href", target)
    }
    if (isPlain && (token.type === "link_open" || token.type === "link_close")) {
      token.tag = "span"
      token.attrs = null
    }
    if (token.type === "image") token.type = "text"
  }
}

const plainText = (markdown: string): string =>
  markdown.replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/<(https?:[^>]*)>/g, "$1").replace(/[`*]/g, "")

/** Drops the last sentence if it only introduces a table or an example. */
const wholeSentences = (text: string): string => /^.*\./s.exec(text)?.[0] ?? text

/** The anchor of a heading, as GitHub makes it. */
const slugOf = (heading: string, known: Map<string, number>): string => {
  const slug = plainText(heading).toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, "").trim().replaceAll(" ", "-")
  const before = known.get(slug) ?? 0
  known.set(slug, before + 1)
  return before === 0 ? slug : `${slug}-${before}`
}
