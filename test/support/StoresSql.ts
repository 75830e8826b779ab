import { Layer } from "effect"
import * as AccountStoreSql from "#layers/sql/AccountStoreSql.ts"
import * as SessionStoreSql from "#layers/sql/SessionStoreSql.ts"
import * as BounceStoreSql from "#layers/sql/BounceStoreSql.ts"
import * as DeliveryLogSql from "#layers/sql/DeliveryLogSql.ts"
import * as EntryStoreSql from "#layers/sql/EntryStoreSql.ts"
import * as EventLogSql from "#layers/sql/EventLogSql.ts"
import * as HostPausesSql from "#layers/sql/HostPausesSql.ts"
import * as NotificationLogSql from "#layers/sql/NotificationLogSql.ts"
import * as OutboxSql from "#layers/sql/OutboxSql.ts"
import * as VerificationQueueSql from "#layers/sql/VerificationQueueSql.ts"
import * as Passwords from "#layers/sql/Passwords.ts"
import * as PingsSql from "#layers/sql/PingsSql.ts"
import * as RedeliverySql from "#layers/sql/RedeliverySql.ts"
import * as ReplaysSql from "#layers/sql/ReplaysSql.ts"
import * as ResourceCatalogSql from "#layers/sql/ResourceCatalogSql.ts"
import * as ResourceStoreSql from "#layers/sql/ResourceStoreSql.ts"
import * as RunnerBoardSql from "#layers/sql/RunnerBoardSql.ts"
import * as RetentionSql from "#layers/sql/RetentionSql.ts"
import * as SubscriptionHealthSql from "#layers/sql/SubscriptionHealthSql.ts"
import * as SubscriptionStoreSql from "#layers/sql/SubscriptionStoreSql.ts"
import * as HubSubscriptionStoreSql from "#layers/sql/HubSubscriptionStoreSql.ts"
import { make, SecretBox } from "#layers/sql/SecretBox.ts"
import * as WriteProbeSql from "#layers/sql/WriteProbeSql.ts"

const secretBox = make([new Uint8Array(32).fill(7)])

/** The stores of the service, with cheap password hashes. */
export const storesSql = Layer.mergeAll(
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
  WriteProbeSql.layer,
  SessionStoreSql.layer,
  AccountStoreSql.layerWith(Passwords.cheap)
).pipe(Layer.provide(Layer.succeed(SecretBox, secretBox)))
