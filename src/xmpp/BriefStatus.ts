import { renderStatusXml } from "#domain/render/StatusXml.ts"
import type { Status } from "#domain/poll/Status.ts"

/** Characters of a feed's title and of the log line: a stanza holds up to twenty statuses, and publishers write what they please. */
const longTexts = 1_000

const cut = (text: string, longest: number): string =>
  text.length > longest ? `${text.slice(0, longest - 1).toWellFormed()}…` : text

/** The status as it stands in stanzas: one long title takes no message and no list of its room. */
export const renderBriefStatus = (
  { http, title, ...status }: Status,
  extNamespace: string,
  longest = longTexts
): string =>
  renderStatusXml(
    {
      ...status,
      ...(http === undefined ? {} : { http: cut(http, longest) }),
      ...(title === undefined ? {} : { title: cut(title, longest) })
    },
    extNamespace
  )
