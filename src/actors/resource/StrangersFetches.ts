import { Result } from "effect"
import type { StrangerLedger } from "#domain/limits/StrangerLedger.ts"
import type { ResourceState } from "#domain/poll/Resource.ts"
import type { Fetched, FetchError } from "#domain/ports/Fetcher.ts"
import { maxStoredLength } from "#domain/ports/ResourceStore.ts"

/** Counts the bytes of a fetch for strangers in the ledger. A document that is too large counts with the most that is read of it. */
export const recordStrangersFetch = (
  { ledger }: { readonly ledger: StrangerLedger },
  { askers, host, url }: ResourceState,
  result: Result.Result<Fetched, FetchError>,
  now: number
): void => {
  const bytes = bytesOf(result)
  if (bytes === 0) return
  const server = Result.isSuccess(result) ? result.success.server : undefined
  ledger.recordFetch({ url, host, askers, server, bytes }, now)
}

const bytesOf = (result: Result.Result<Fetched, FetchError>): number => {
  if (Result.isSuccess(result)) return result.success.body.length
  return result.failure.reason._tag === "TooLarge" ? maxStoredLength : 0
}
