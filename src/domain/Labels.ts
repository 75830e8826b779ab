import { Result } from "effect"
import { badParameter, type Refusal } from "./Refusal.ts"
import { hasControlCharacter, quote } from "./Topic.ts"

/**
 * Labels of a subscription: words of the subscriber, for lists, searches and exports. Deliveries do not depend on labels.
 *
 * The order is the subscriber's: an OPML export puts the subscription into the folder of its first label.
 */
export type Labels = ReadonlyArray<string>

export const maxLabels = 20
export const maxLabelLength = 200

/** One label in its stored form: composed characters, and single spaces between words. */
const normalize = (label: string): string => label.normalize("NFC").replace(/\s+/g, " ").trim()

/** Checks labels, and removes empty and repeated ones. `parameter` is their name in the sentence of a refusal. */
export const check = (given: Iterable<string>, parameter: string): Result.Result<Labels, Refusal> => {
  const labels = new Set<string>()
  for (const text of given) {
    const label = normalize(text)
    if (label === "") continue
    const problem = findProblem(label)
    if (problem !== undefined) return Result.fail(badParameter(parameter, `${parameter} ${problem}`))
    labels.add(label)
    if (labels.size > maxLabels) {
      return Result.fail(
        badParameter(parameter, `${parameter} names more than ${maxLabels} labels of one subscription; send fewer.`)
      )
    }
  }
  return Result.succeed([...labels])
}

const findProblem = (label: string): string | undefined => {
  if (label.length > maxLabelLength) {
    return `has a label of ${label.length} characters; at most ${maxLabelLength} are accepted.`
  }
  return hasControlCharacter(label) || !label.isWellFormed()
    ? `has a label with a control character: received ${quote(label)}; leave the character out.`
    : undefined
}

/** The stored labels with further ones behind them, as many as there is room for. */
export const merge = (stored: Labels, more: Labels): Labels => [...new Set([...stored, ...more])].slice(0, maxLabels)
