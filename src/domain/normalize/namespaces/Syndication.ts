import { readExtension } from "#domain/normalize/Extensions.ts"
import { getNonEmptyText } from "#domain/normalize/Texts.ts"
import type { Namespace } from "./Namespace.ts"

/** RSS 1.0 syndication: the publisher's polling interval. */
export const syndication: Namespace = {
  key: "sy",
  uris: ["http://purl.org/rss/1.0/modules/syndication"],
  vocabulary: {
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
}
