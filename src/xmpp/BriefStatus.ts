import { renderStatusXml } from "#domain/render/StatusXml.ts"
import type { Status } from "#domain/poll/Status.ts"

/** Maximum of characters in a feed's title and in its log line. A stanza holds up to twenty statuses, and publishers choose the length. */
const longTexts = 1_000

const cut = (text: string, longest: number): string =>
  text.length > longest ? `${text.slice(0, longest - 1).toWellFormed()}…` : text

/** Renders a status for a stanza, with long texts cut, so that one long title leaves space for the rest of a message or list. */
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
