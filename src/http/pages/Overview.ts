import { Effect } from "effect"
import { html } from "./Html.ts"
import { page } from "./Page.ts"

export const overviewPages = [
  page("/dashboard", "session", ({ caller }) =>
    Effect.succeed({
      title: "Overview",
      lead: html`Signed in as ${caller.account.login}.`,
      body: html``
    }))
]
