import { Context, type Effect } from "effect"
import type { Caller } from "#domain/Account.ts"
import type { Document } from "#domain/delivery/Notification.ts"
import type { DocumentVersion } from "#domain/poll/DocumentVersion.ts"
import type { FetchRecord } from "#domain/poll/FetchRecord.ts"
import type { StoredEntry } from "#domain/ports/EntryStore.ts"
import type { CatalogItem, CatalogPage, CatalogQuery, FailingHost } from "#domain/ports/ResourceCatalog.ts"
import type { Refusal } from "#domain/Refusal.ts"

/** The view of a caller: its own resources, or all. The face checks the right `admin` for all. */
export interface Scope {
  readonly caller: Caller
  readonly ofAll?: boolean
}

export interface NamedResource extends Scope {
  readonly id: number
}

export interface ListResources extends Scope, Omit<CatalogQuery, "accountId"> {}

/** A resource with the reason of its period. Passwords in URLs are `***` in the view of all accounts. */
export interface ResourceReport extends CatalogItem {
  readonly periodReason: string
}

/** Outcome of a fetch on request. */
export interface FetchOutcome {
  readonly report: ResourceReport
  /** False: the fetch has not ended within 5 s, for example because its host is busy. */
  readonly isDone: boolean
}

/**
 * Resources as people look at them.
 *
 * A resource without a subscription of the caller is refused as an unknown one.
 */
export class ResourceReports extends Context.Service<ResourceReports, {
  readonly list: (
    request: ListResources
  ) => Effect.Effect<Omit<CatalogPage, "items"> & { readonly items: ReadonlyArray<ResourceReport> }, Refusal>
  readonly show: (request: NamedResource) => Effect.Effect<ResourceReport, Refusal>
  /** The last fetches that changed the state of the resource, newest first. */
  readonly fetches: (request: NamedResource) => Effect.Effect<ReadonlyArray<FetchRecord>, Refusal>
  /** Newest first, at most 50. `before` is the id of an entry of the page before. */
  readonly entries: (
    request: NamedResource & { readonly count: number; readonly before?: string }
  ) => Effect.Effect<ReadonlyArray<StoredEntry>, Refusal>
  /** The stored document of a resource that is no feed; undefined without one. */
  readonly document: (request: NamedResource) => Effect.Effect<Document | undefined, Refusal>
  readonly versions: (request: NamedResource) => Effect.Effect<ReadonlyArray<DocumentVersion>, Refusal>
  readonly version: (request: NamedResource & { readonly version: number }) => Effect.Effect<Document, Refusal>
  /** Fetches the resource now, at most 20 times a minute for one account. */
  readonly fetchNow: (request: NamedResource) => Effect.Effect<FetchOutcome, Refusal>
  /** Hosts with the most failing resources, and with the most failing callbacks. */
  readonly failingHosts: (
    request: Scope
  ) => Effect.Effect<
    { readonly resources: ReadonlyArray<FailingHost>; readonly callbacks: ReadonlyArray<FailingHost> },
    Refusal
  >
}>()("windhover/actors/operations/ResourceReports") {}
