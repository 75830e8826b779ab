import type { Vitest } from "@effect/vitest"
import { accountStoreSuite } from "#test/suites/AccountStore.ts"
import { bounceStoreSuite } from "#test/suites/BounceStore.ts"
import { deliveryLogSuite } from "#test/suites/DeliveryLog.ts"
import { entryStoreSuite } from "#test/suites/EntryStore.ts"
import { eventLogSuite } from "#test/suites/EventLog.ts"
import { hostPausesSuite } from "#test/suites/HostPauses.ts"
import { notificationLogSuite } from "#test/suites/NotificationLog.ts"
import { outboxSuite } from "#test/suites/Outbox.ts"
import { pingsSuite } from "#test/suites/Pings.ts"
import { redeliverySuite } from "#test/suites/Redelivery.ts"
import { replaysSuite } from "#test/suites/Replays.ts"
import { questionQueueSuite } from "./VerificationQueue.ts"
import { resourceCatalogSuite } from "#test/suites/ResourceCatalog.ts"
import { resourceStoreSuite } from "#test/suites/ResourceStore.ts"
import { retentionSuite } from "#test/suites/Retention.ts"
import { runnerBoardSuite } from "#test/suites/RunnerBoard.ts"
import { sessionStoreSuite } from "#test/suites/SessionStore.ts"
import { subscriptionHealthSuite } from "./SubscriptionHealth.ts"
import { subscriptionStoreSuite } from "#test/suites/SubscriptionStore.ts"
import { subscriptionTransferSuite } from "#test/suites/SubscriptionTransfer.ts"
import { upstreamStoreSuite } from "./HubSubscriptionStore.ts"
import { writingSuite } from "./WriteProbe.ts"
import type { Stores } from "#test/support/StoreFixture.ts"

/** What the stores promise, asked of one implementation. */
export const storesSuite = (it: Vitest.MethodsNonLive<Stores>): void => {
  resourceStoreSuite(it)
  resourceCatalogSuite(it)
  entryStoreSuite(it)
  subscriptionHealthSuite(it)
  subscriptionStoreSuite(it)
  subscriptionTransferSuite(it)
  eventLogSuite(it)
  hostPausesSuite(it)
  notificationLogSuite(it)
  outboxSuite(it)
  bounceStoreSuite(it)
  deliveryLogSuite(it)
  retentionSuite(it)
  redeliverySuite(it)
  replaysSuite(it)
  pingsSuite(it)
  accountStoreSuite(it)
  runnerBoardSuite(it)
  sessionStoreSuite(it)
  questionQueueSuite(it)
  upstreamStoreSuite(it)
  writingSuite(it)
}
