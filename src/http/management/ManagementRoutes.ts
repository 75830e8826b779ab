import type { Effect, Scope } from "effect"
import { deliveryRoutes } from "./DeliveryRoutes.ts"
import { inspectRoutes } from "./InspectRoutes.ts"
import { overviewRoutes } from "./OverviewRoutes.ts"
import { recoveryRoutes } from "./RecoveryRoutes.ts"
import { resourceRoutes } from "./ResourceRoutes.ts"
import { secretRoutes } from "./SecretRoutes.ts"
import { subscriptionRoutes } from "./SubscriptionRoutes.ts"
import { transferRoutes } from "./TransferRoutes.ts"

/** All routes below `/api`. A new group of routes is a file with a table, and a line here. */
export const managementRoutes = [
  ...subscriptionRoutes,
  ...deliveryRoutes,
  ...recoveryRoutes,
  ...secretRoutes,
  ...resourceRoutes,
  ...inspectRoutes,
  ...overviewRoutes
]

/** Routes whose responses are streams. */
export const streamedRoutes = transferRoutes

/** The services behind the routes, which the actors provide. */
export type ManagementServices =
  | Effect.Services<ReturnType<typeof managementRoutes[number]["handle"]>>
  | Exclude<Effect.Services<ReturnType<typeof streamedRoutes[number]["open"]>>, Scope.Scope>
