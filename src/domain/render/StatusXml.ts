import type { Status } from "#domain/poll/Status.ts"
import { attribute, element, timestamp } from "./Xml.ts"

/**
 * The status of a resource in the service's extension namespace, declared on the element itself: it stands as well in Atom as in XMPP.
 *
 * The order is the wire's: old clients expect `http` first, then `next_fetch`. These two, the period and the times are there even when
 * unknown, and empty then; everything else is absent.
 */
export const renderStatusXml = (status: Status, extNamespace: string): string =>
  `<status${attribute("feed", status.feed)}${attribute("xmlns", extNamespace)}>` +
  element("http", status.http ?? "", attribute("code", status.code)) +
  element("next_fetch", moment(status.nextFetch)) +
  element("title", status.title) +
  element("entries_count_since_last_maintenance", status.entriesCountSinceLastMaintenance) +
  element("velocity", status.velocity) +
  element("popularity", status.popularity) +
  element("porn_rank", status.pornRank) +
  element("bozo_rank", status.bozoRank) +
  element("generated_ids", status.generatedIds === true ? "true" : undefined) +
  element("period", status.period ?? "") +
  element("last_fetch", moment(status.lastFetch)) +
  element("last_parse", moment(status.lastParse)) +
  element("last_maintenance_at", moment(status.lastMaintenanceAt)) +
  "</status>"

/** Whole seconds: clients of the wire parse these with fixed patterns. */
const moment = (at: number | undefined): string =>
  timestamp(at === undefined ? undefined : Math.floor(at / 1000) * 1000) ?? ""
