import { Layer } from "effect"
import * as AccountStoreSql from "./AccountStoreSql.ts"
import * as BounceStoreSql from "./BounceStoreSql.ts"
import * as DeliveryLogSql from "./DeliveryLogSql.ts"
import * as EntryStoreSql from "./EntryStoreSql.ts"
import * as EventLogSql from "./EventLogSql.ts"
import * as HostPausesSql from "./HostPausesSql.ts"
import * as NotificationLogSql from "./NotificationLogSql.ts"
import * as OutboxSql from "./OutboxSql.ts"
import * as PingsSql from "./PingsSql.ts"
import * as RedeliverySql from "./RedeliverySql.ts"
import * as ReplaysSql from "./ReplaysSql.ts"
import * as VerificationQueueSql from "./VerificationQueueSql.ts"
import * as ResourceCatalogSql from "./ResourceCatalogSql.ts"
import * as ResourceStoreSql from "./ResourceStoreSql.ts"
import * as RetentionSql from "./RetentionSql.ts"
import * as RunnerBoardSql from "./RunnerBoardSql.ts"
import * as SessionStoreSql from "./SessionStoreSql.ts"
import * as SubscriptionHealthSql from "./SubscriptionHealthSql.ts"
import * as SubscriptionStoreSql from "./SubscriptionStoreSql.ts"
import * as HubSubscriptionStoreSql from "./HubSubscriptionStoreSql.ts"
import * as WriteProbeSql from "./WriteProbeSql.ts"

/** All stores over one database, of either engine. */
export const layer = Layer.mergeAll(
  ResourceStoreSql.layer,
  ResourceCatalogSql.layer,
  EntryStoreSql.layer,
  EventLogSql.layer,
  HostPausesSql.layer,
  NotificationLogSql.layer,
  SubscriptionStoreSql.layer,
  SubscriptionHealthSql.layer,
  OutboxSql.layer,
  BounceStoreSql.layer,
  DeliveryLogSql.layer,
  VerificationQueueSql.layer,
  RetentionSql.layer,
  RunnerBoardSql.layer,
  PingsSql.layer,
  RedeliverySql.layer,
  ReplaysSql.layer,
  HubSubscriptionStoreSql.layer,
  SessionStoreSql.layer,
  WriteProbeSql.layer,
  AccountStoreSql.layer
)
