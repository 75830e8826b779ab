import type { Effect } from "effect"
import { accountActions, accountPages } from "./Account.ts"
import { deliveryPages } from "./DeliveryPages.ts"
import { docPages } from "./Docs.ts"
import { homeActions, homePages } from "./Home.ts"
import { newSubscriptionActions, newSubscriptionPages } from "./NewSubscription.ts"
import { operatorPages } from "./Operator.ts"
import { overviewPages } from "./Overview.ts"
import { referencePages } from "./Reference.ts"
import { resourceActions, resourcePages } from "./ResourcePages.ts"
import { signInActions, signInPages } from "./SignIn.ts"
import { subscriptionActions } from "./SubscriptionActions.ts"
import { subscriptionPages } from "./SubscriptionPages.ts"
import { tokenActions, tokenPages } from "./Tokens.ts"

/** All pages. A new page is a file with a table, a line here, and a line in `Navigation.ts`. */
export const pages = [
  ...homePages,
  ...referencePages,
  ...docPages,
  ...signInPages,
  ...overviewPages,
  ...newSubscriptionPages,
  ...resourcePages,
  ...subscriptionPages,
  ...deliveryPages,
  ...tokenPages,
  ...accountPages,
  ...operatorPages
]

/** The targets of all forms. */
export const actions = [
  ...homeActions,
  ...signInActions,
  ...newSubscriptionActions,
  ...resourceActions,
  ...subscriptionActions,
  ...tokenActions,
  ...accountActions
]

/** The services behind the pages. */
export type PageServices = Effect.Services<
  ReturnType<typeof pages[number]["show"]> | ReturnType<typeof actions[number]["run"]>
>
