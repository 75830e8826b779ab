/** Replaces the body of one second-level section of a Markdown document, or appends the section. */
export const replaceSection = (document: string, title: string, body: string): string => {
  const [head = "", ...sections] = document.split(/^(?=## )/m)
  const written = `## ${title}\n\n${body}\n`
  const at = sections.findIndex((one) => one.startsWith(`## ${title}\n`))
  const rest = at < 0 ? [...sections, written] : sections.with(at, written)
  return [head, ...rest].map((part) => part.trim()).filter((part) => part !== "").join("\n\n") + "\n"
}
