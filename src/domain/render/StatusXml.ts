import type { Status } from "#domain/poll/Status.ts"
import { formatTimestamp, renderAttribute, renderElement } from "./Xml.ts"

/**
 * Renders the status of a resource in the service's extension namespace, for Atom and XMPP.
 *
 * Old clients expect `http` first, then `next_fetch`. Unknown values are absent, but `http`, the period and the times are empty.
 */
export const renderStatusXml = (status: Status, extNamespace: string): string =>
  `<status${renderAttribute("feed", status.feed)}${renderAttribute("xmlns", extNamespace)}>` +
  renderElement("http", status.http ?? "", renderAttribute("code", status.code)) +
  renderElement("next_fetch", formatMoment(status.nextFetch)) +
  renderElement("title", status.title) +
  renderElement("entries_count_since_last_maintenance", status.entriesCountSinceLastMaintenance) +
  renderElement("velocity", status.velocity) +
  renderElement("popularity", status.popularity) +
  renderElement("porn_rank", status.pornRank) +
  renderElement("bozo_rank", status.bozoRank) +
  renderElement("generated_ids", status.generatedIds === true ? "true" : undefined) +
  renderElement("period", status.period ?? "") +
  renderElement("last_fetch", formatMoment(status.lastFetch)) +
  renderElement("last_parse", formatMoment(status.lastParse)) +
  renderElement("last_maintenance_at", formatMoment(status.lastMaintenanceAt)) +
  "</status>"

/** Formats a time in whole seconds, because clients parse a fixed pattern. */
const formatMoment = (at: number | undefined): string =>
  formatTimestamp(at === undefined ? undefined : Math.floor(at / 1000) * 1000) ?? ""
