import { assert, describe, it } from "@effect/vitest"
import { measure, sentencesOfMarkdown, sentencesOfSource } from "#scripts/prose/Measure.ts"

const clear = "A callback that answers 410 Gone ends its subscription at once."
const vague = "Whoever waits for what nobody sends is told so by something that others know."

describe("the measure of prose", () => {
  it("counts the share of indefinite words in sentences of ten words or more", () => {
    const { headless, indefinite, sentences, vague: full, worst } = measure([
      { at: "a.ts:1", text: clear },
      { at: "a.ts:9", text: vague }
    ])
    assert.strictEqual(sentences, 2)
    assert.closeTo(indefinite, 5 / 14 / 2, 1e-9)
    assert.deepStrictEqual([full, headless], [0.5, 0.5])
    assert.deepStrictEqual(worst, [{ at: "a.ts:9", text: vague }])
  })

  it("is zero for a text without sentences", () => {
    assert.deepInclude(measure([]), { sentences: 0, indefinite: 0, vague: 0, headless: 0 })
  })

  it("reads docblocks of a source, with their lines, and neither code nor drawings nor short sentences", () => {
    const source =
      `const who = "it"\n\n/**\n * ${clear} Short one.\n *\n *   a ──► b which is what it is for them and nobody else here\n */\n`
    assert.deepStrictEqual(sentencesOfSource("a.ts", source), [{ at: "a.ts:3", text: clear }])
  })

  it("takes code and links for one word each", () => {
    const source = "/** The callback `what it is` is [what they call](it.md) a URL of at most 2,048 characters. */"
    assert.deepStrictEqual(sentencesOfSource("a.ts", source), [{
      at: "a.ts:1",
      text: "The callback x is what they call a URL of at most 2,048 characters."
    }])
  })

  it("reads paragraphs and items of a document, and neither its code nor its tables nor its headings", () => {
    const document = `# ${vague}\n\n${clear}\n\n\`\`\`\n${vague}\n\`\`\`\n| ${vague} |\n\n* ${clear}\n* ${vague}\n`
    assert.deepStrictEqual(sentencesOfMarkdown("a.md", document), [
      { at: "a.md:3", text: clear },
      { at: "a.md:10", text: clear },
      { at: "a.md:11", text: vague }
    ])
  })
})
