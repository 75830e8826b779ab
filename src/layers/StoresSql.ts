import { Layer } from "effect"
import * as AccountStoreSql from "./AccountStoreSql.ts"
import * as BounceStoreSql from "./BounceStoreSql.ts"
import * as DeliveryLogSql from "./DeliveryLogSql.ts"
import * as EntryStoreSql from "./EntryStoreSql.ts"
import * as HostPausesSql from "./HostPausesSql.ts"
import * as NotificationLogSql from "./NotificationLogSql.ts"
import * as OutboxSql from "./OutboxSql.ts"
import * as PingsSql from "./PingsSql.ts"
import * as ReplaysSql from "./ReplaysSql.ts"
import * as QuestionQueueSql from "./QuestionQueueSql.ts"
import * as ResourceStoreSql from "./ResourceStoreSql.ts"
import * as RetentionSql from "./RetentionSql.ts"
import * as SubscriptionStoreSql from "./SubscriptionStoreSql.ts"
import * as UpstreamStoreSql from "./UpstreamStoreSql.ts"
import * as WritingSql from "./WritingSql.ts"

/** All stores over one database, of either engine. */
export const layer = Layer.mergeAll(
  ResourceStoreSql.layer,
  EntryStoreSql.layer,
  HostPausesSql.layer,
  NotificationLogSql.layer,
  SubscriptionStoreSql.layer,
  OutboxSql.layer,
  BounceStoreSql.layer,
  DeliveryLogSql.layer,
  QuestionQueueSql.layer,
  RetentionSql.layer,
  PingsSql.layer,
  ReplaysSql.layer,
  UpstreamStoreSql.layer,
  WritingSql.layer,
  AccountStoreSql.layer
)
