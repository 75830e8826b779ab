import { renderStatusXml } from "#domain/render/StatusXml.ts"
import type { Status } from "#domain/poll/Status.ts"

/** Maximum of characters in a feed's title and in its log line. A stanza holds up to twenty statuses, and publishers choose the length. */
const maxTextLength = 1_000

const shorten = (text: string, maxLength: number): string =>
  text.length > maxLength ? `${text.slice(0, maxLength - 1).toWellFormed()}…` : text

/** Renders a status for a stanza, with long texts cut, so that one long title leaves space for the rest of a message or list. */
export const renderBriefStatus = (
  { http, title, ...status }: Status,
  extNamespace: string,
  maxLength = maxTextLength
): string =>
  renderStatusXml(
    {
      ...status,
      ...(http === undefined ? {} : { http: shorten(http, maxLength) }),
      ...(title === undefined ? {} : { title: shorten(title, maxLength) })
    },
    extNamespace
  )
