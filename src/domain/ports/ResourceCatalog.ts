import { Context, type Effect, type Option } from "effect"
import type { Document } from "#domain/delivery/Notification.ts"
import type { DocumentVersion } from "#domain/poll/DocumentVersion.ts"
import type { FetchRecord } from "#domain/poll/FetchRecord.ts"
import type { ResourceProfile } from "#domain/poll/Resource.ts"
import type { Search } from "#domain/Search.ts"
import type { HubSubscription } from "#domain/websub/HubSubscription.ts"
import type { StoreError } from "./StoreError.ts"

/** A resource as the lists of the page show it. */
export interface CatalogItem {
  readonly resource: ResourceProfile
  /** Canonical topic. */
  readonly url: string
  readonly host: string
  readonly partition: number
  /** Failed fetches in a row. */
  readonly failures: number
  readonly inError: boolean
  /** Live subscriptions; of the account only, where a query names one. Counted up to `maxCountedSubscribers`. */
  readonly subscribers: number
  /** Windhover's subscription at a hub of the publisher. */
  readonly hub?: Pick<HubSubscription, "hub" | "state"> & { readonly isReliable: boolean }
}

export interface CatalogQuery {
  /** Resources with a subscription of this account; all resources without it. */
  readonly accountId?: number
  /** Filter. Without an account, conditions on subscriptions have no meaning and are left out. */
  readonly search?: Search
  /** Id behind which the page begins; ids descend. */
  readonly after?: number
  /** 1 to 100. */
  readonly limit: number
}

export interface CatalogPage {
  /** Newest first. A page may be short, even empty, while `next` tells that the list goes on. */
  readonly items: ReadonlyArray<CatalogItem>
  readonly next?: number
}

/** A host with failing resources or callbacks. */
export interface FailingHost {
  readonly host: string
  readonly count: number
}

/** Failing resources and callbacks that one count reads, at most. */
export const maxCountedFailing = 5_000

/** Reads resources for people: lists, histories and versions. No call counts or walks all rows. */
export class ResourceCatalog extends Context.Service<ResourceCatalog, {
  readonly list: (query: CatalogQuery) => Effect.Effect<CatalogPage, StoreError>
  /** None without a subscription of the account, where the query names one. */
  readonly find: (
    query: Pick<CatalogQuery, "accountId"> & { readonly id: number }
  ) => Effect.Effect<Option.Option<CatalogItem>, StoreError>
  /** The last fetches that changed the state of a resource, newest first. */
  readonly fetches: (resourceId: number) => Effect.Effect<ReadonlyArray<FetchRecord>, StoreError>
  /** Newest first. */
  readonly versions: (resourceId: number) => Effect.Effect<ReadonlyArray<DocumentVersion>, StoreError>
  readonly version: (resourceId: number, id: number) => Effect.Effect<Option.Option<Document>, StoreError>
  /** Hosts with the most failing resources, and with the most failing callbacks, at most `limit` of each. */
  readonly failingHosts: (
    accountId: number | undefined,
    limit: number
  ) => Effect.Effect<
    { readonly resources: ReadonlyArray<FailingHost>; readonly callbacks: ReadonlyArray<FailingHost> },
    StoreError
  >
}>()("windhover/domain/ports/ResourceCatalog") {}
