import { Layer } from "effect"
import * as AccountStoreSql from "#layers/AccountStoreSql.ts"
import * as BounceStoreSql from "#layers/BounceStoreSql.ts"
import * as DeliveryLogSql from "#layers/DeliveryLogSql.ts"
import * as EntryStoreSql from "#layers/EntryStoreSql.ts"
import * as HostPausesSql from "#layers/HostPausesSql.ts"
import * as NotificationLogSql from "#layers/NotificationLogSql.ts"
import * as OutboxSql from "#layers/OutboxSql.ts"
import * as QuestionQueueSql from "#layers/QuestionQueueSql.ts"
import * as Passwords from "#layers/Passwords.ts"
import * as PingsSql from "#layers/PingsSql.ts"
import * as ReplaysSql from "#layers/ReplaysSql.ts"
import * as ResourceStoreSql from "#layers/ResourceStoreSql.ts"
import * as RetentionSql from "#layers/RetentionSql.ts"
import * as SubscriptionStoreSql from "#layers/SubscriptionStoreSql.ts"
import * as UpstreamStoreSql from "#layers/UpstreamStoreSql.ts"
import * as WritingSql from "#layers/WritingSql.ts"

/** The stores of the service, but for the work of hashing passwords. */
export const storesSql = Layer.mergeAll(
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
  AccountStoreSql.layerWith(Passwords.cheap)
)
