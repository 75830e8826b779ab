import type { Effect } from "effect"
import { deliveryRoutes } from "./DeliveryRoutes.ts"
import { recoveryRoutes } from "./RecoveryRoutes.ts"
import { secretRoutes } from "./SecretRoutes.ts"
import { subscriptionRoutes } from "./SubscriptionRoutes.ts"

/** All routes below `/api`. A new group of routes is a file with a table, and a line here. */
export const managementRoutes = [...subscriptionRoutes, ...deliveryRoutes, ...recoveryRoutes, ...secretRoutes]

/** The services behind the routes, which the actors provide. */
export type ManagementServices = Effect.Services<ReturnType<typeof managementRoutes[number]["handle"]>>
