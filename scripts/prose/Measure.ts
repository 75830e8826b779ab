/** A sentence of ten words or more, and the file and line of its paragraph. */
export interface Sentence {
  readonly at: string
  readonly text: string
}

/** Shares of 0 to 1, of sentences of ten words or more. */
export interface Measured {
  readonly sentences: number
  /** Mean share of indefinite words in a sentence. */
  readonly indefinite: number
  /** Share of the sentences of which a fifth or more is indefinite. */
  readonly vague: number
  /** Share of the sentences that begin with an indefinite word, or with "Of". */
  readonly headless: number
  /** Sentences that count for `vague` or `headless`, the most indefinite first. */
  readonly worst: ReadonlyArray<Sentence>
}

/** The most that `npm run prose` accepts. */
export const limits = {
  sources: { indefinite: 0.02, vague: 0, headless: 0.01 },
  documents: { indefinite: 0.025, vague: 0, headless: 0.01 }
}

const minWords = 10
const vagueShare = 0.2

const indefiniteWord =
  /\b(who|whoever|whom|whose|what|whatever|which|so many|those|one that|others|nobody|somebody|anybody|everybody|nothing|something|anything|it|them|they)\b/gi
const headlessStart = /^(What|Who|Whoever|Whatever|Those|Nobody|Of)\b/

const wordsOf = (text: string): number => text.split(/\s+/).length

const indefiniteShare = ({ text }: Sentence): number => (text.match(indefiniteWord)?.length ?? 0) / wordsOf(text)

export const measure = (sentences: ReadonlyArray<Sentence>): Measured => {
  const shares = new Map(sentences.map((sentence) => [sentence, indefiniteShare(sentence)]))
  const shareOf = (sentence: Sentence) => shares.get(sentence) ?? 0
  const count = Math.max(sentences.length, 1)
  const vague = sentences.filter((sentence) => shareOf(sentence) >= vagueShare)
  const headless = sentences.filter(({ text }) => headlessStart.test(text))
  return {
    sentences: sentences.length,
    indefinite: sentences.reduce((sum, sentence) => sum + shareOf(sentence), 0) / count,
    vague: vague.length / count,
    headless: headless.length / count,
    worst: [...new Set([...vague, ...headless])].toSorted((a, b) => shareOf(b) - shareOf(a))
  }
}

/** Sentences of the docblocks of a TypeScript source. */
export const sentencesOfSource = (file: string, text: string): ReadonlyArray<Sentence> =>
  [...text.matchAll(/\/\*\*([\s\S]*?)\*\//g)].flatMap(({ 1: block = "", index }) =>
    sentencesAt(`${file}:${lineOf(text, index)}`, withoutDrawings(block.replace(/^[ \t]*\*+ ?/gm, "")))
  )

/** Sentences of a Markdown document, without its code, tables and headings. */
export const sentencesOfMarkdown = (file: string, text: string): ReadonlyArray<Sentence> => {
  const prose = text.replace(/```[\s\S]*?```/g, (code) => code.replace(/[^\n]/g, "")).replace(/^[|#].*$/gm, "")
  return [...prose.matchAll(/(?:[^\n]+\n?)+/g)].flatMap(({ 0: paragraph, index }) =>
    paragraph.split(/\n(?=[*-] |\d+\. )/).flatMap((item) =>
      sentencesAt(`${file}:${lineOf(prose, index + paragraph.indexOf(item))}`, item.replace(/^[*-] /, ""))
    )
  )
}

const withoutDrawings = (block: string): string =>
  block.split("\n").filter((line) => !/[│─►◄▲▼┌└├┐┘]|-->|<--/.test(line)).join(" ")

const lineOf = (text: string, index: number): number => text.slice(0, index).split("\n").length

/** Code and links are one word each: their names are not prose. */
const sentencesAt = (at: string, text: string): ReadonlyArray<Sentence> =>
  text.replace(/`[^`]*`/g, "x").replace(/\[([^\]]*)\]\([^)]*\)/g, "$1").replace(/\s+/g, " ").trim()
    .split(/(?<=[.:;?!])\s+(?=[A-Z])/).filter((sentence) => wordsOf(sentence) >= minWords)
    .map((sentence) => ({ at, text: sentence }))
