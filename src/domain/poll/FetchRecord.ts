import type { PollWrite } from "#domain/ports/ResourceStore.ts"
import type { PollTrigger } from "./Status.ts"

/** A fetch that changed the state of its resource. Fetches without a change leave no record. */
export interface FetchRecord {
  /** Epoch ms. */
  readonly at: number
  readonly trigger: PollTrigger
  /** HTTP status; 0 without an answer. */
  readonly code: number
  /** New and updated entries; 1 for a changed document. */
  readonly news: number
  /** Failed fetches in a row, this one included; 0 for a success. */
  readonly failures: number
}

/** Records of one resource, newest first. Older ones are dropped. */
export const maxFetchRecords = 32

/** Bytes of a packed record. */
export const fetchRecordBytes = 16

/** Packed numbers: append only. */
const triggers: ReadonlyArray<PollTrigger> = ["ring", "ping", "push", "late"]

/** The record of a poll write; undefined for a write without a fetch. */
export const fetchRecordOf = ({ announce, document, entries, state, updated }: PollWrite): FetchRecord | undefined => {
  const at = Math.max(state.lastFetch ?? 0, state.lastParse ?? 0)
  if (at === 0) return undefined
  const named = /^Fetched \((\w+)\)/.exec(state.http ?? "")?.[1]
  const news = entries.length + updated.length
  return {
    at,
    trigger: triggers.find((trigger) => trigger === named) ?? "ring",
    code: state.code ?? 0,
    news: news > 0 ? news : document !== undefined || announce?._tag === "Document" ? 1 : 0,
    failures: state.failures
  }
}

const maxShort = 0xffff

/** The bytes of a record: time, code, news, failures and trigger. */
export const packFetchRecord = ({ at, code, failures, news, trigger }: FetchRecord): Uint8Array => {
  const bytes = new Uint8Array(fetchRecordBytes)
  const view = new DataView(bytes.buffer)
  view.setFloat64(0, at)
  view.setUint16(8, Math.min(Math.max(code, 0), maxShort))
  view.setUint16(10, Math.min(news, maxShort))
  view.setUint16(12, Math.min(failures, maxShort))
  view.setUint8(14, triggers.indexOf(trigger))
  return bytes
}

/** The records in packed bytes, newest first. Bytes behind the last whole record do not count. */
export const unpackFetchRecords = (bytes: Uint8Array): ReadonlyArray<FetchRecord> => {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  const count = Math.min(Math.floor(bytes.byteLength / fetchRecordBytes), maxFetchRecords)
  return Array.from({ length: count }, (_, i) => {
    const start = i * fetchRecordBytes
    return {
      at: view.getFloat64(start),
      trigger: triggers[view.getUint8(start + 14)] ?? "ring",
      code: view.getUint16(start + 8),
      news: view.getUint16(start + 10),
      failures: view.getUint16(start + 12)
    }
  })
}
