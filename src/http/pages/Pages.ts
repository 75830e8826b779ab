import type { Effect } from "effect"
import { accountActions, accountPages } from "./Account.ts"
import { docPages } from "./Docs.ts"
import { homeActions, homePages } from "./Home.ts"
import { operatorPages } from "./Operator.ts"
import { overviewPages } from "./Overview.ts"
import { referencePages } from "./Reference.ts"
import { signInActions, signInPages } from "./SignIn.ts"
import { tokenActions, tokenPages } from "./Tokens.ts"

/** All pages. A new page is a file with a table, a line here, and a line in `Navigation.ts`. */
export const pages = [
  ...homePages,
  ...referencePages,
  ...docPages,
  ...signInPages,
  ...overviewPages,
  ...tokenPages,
  ...accountPages,
  ...operatorPages
]

/** The targets of all forms. */
export const actions = [...homeActions, ...signInActions, ...tokenActions, ...accountActions]

/** The services behind the pages. */
export type PageServices = Effect.Services<
  ReturnType<typeof pages[number]["show"]> | ReturnType<typeof actions[number]["run"]>
>
