import type { Vocabulary } from "#domain/normalize/ElementContext.ts"
import { readExtension } from "#domain/normalize/Extensions.ts"
import { getNonEmptyText } from "#domain/normalize/Texts.ts"

/** RSS 1.0 syndication: how often the publisher means to be polled. */
export const syndication: Vocabulary = {
  updateperiod: (element, draft) => {
    const period = getNonEmptyText(element)
    if (period !== undefined) (draft.hints ??= {}).updatePeriod ??= period
  },
  updatefrequency: (element, draft) => {
    const frequency = Number(getNonEmptyText(element))
    if (frequency > 0) (draft.hints ??= {}).updateFrequency ??= frequency
  },
  updatebase: readExtension("sy")
}
