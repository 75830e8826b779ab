import { Effect } from "effect"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { type HubReport, maxConsecutiveMisses } from "#domain/websub/HubSubscription.ts"
import type { Setting } from "#domain/Setting.ts"
import { settingsTable } from "#domain/SettingsTable.ts"
import { type Html, html } from "./Html.ts"
import { page } from "./Page.ts"
import { address, count, status, table } from "./Parts.ts"
import { storeCall } from "./StoreCall.ts"

/** Maximum of hubs on the page. */
const maxHubs = 200

const hubsPage = page(
  "/dashboard/hubs",
  "admin",
  Effect.fnUntraced(function*() {
    const hubs = yield* storeCall(HubSubscriptionStore.use((store) => store.hubs(maxHubs)))
    return {
      title: "Hubs",
      lead: html`Hubs of publishers that push new entries to Windhover. Resources of a reliable hub are polled rarely.`,
      body: table(
        "Hubs",
        [
          { title: "Hub", cell: ({ hub }) => address(hub) },
          { title: "State", cell: hubStatus },
          { title: "Subscriptions", kind: "number", cell: ({ subscriptions }) => count(subscriptions) },
          { title: "Pushed documents", kind: "number", cell: ({ pushed }) => count(pushed) },
          { title: "Missed entries", kind: "number", cell: ({ missed }) => count(missed) }
        ],
        hubs,
        html`No feed names a hub yet, or <code>WINDHOVER_UPSTREAM_HUBS</code> is off.`
      )
    }
  })
)

const hubStatus = ({ consecutiveMisses, reliable }: HubReport): Html =>
  consecutiveMisses >= maxConsecutiveMisses
    ? status("bad", "misses pushes")
    : reliable > 0
    ? status("good", `reliable for ${count(reliable)}`)
    : status("idle", "on trial")

const entries: ReadonlyArray<readonly [name: string, setting: Setting<unknown>]> = Object.entries(settingsTable)

const settingsPage = page("/dashboard/settings", "admin", ({ settings }) =>
  Effect.sync(() => ({
    title: "Settings",
    lead:
      html`Read from the environment at the start, and the same for all pages. <code>windhover settings --env</code> prints a file to edit.`,
    body: table(
      "Settings",
      [
        {
          title: "Variable",
          cell: ([, { meaning, variable }]) => html`<code>${variable}</code><p class="hint">${meaning}</p>`
        },
        { title: "Value", cell: ([name, setting]) => describeValue(setting, Reflect.get(settings, name)) }
      ],
      entries,
      html`No setting.`
    )
  })))

/** The value, or the default in words. A secret shows only whether it is set. */
const describeValue = ({ defaultText, defaultValue, isSecret }: Setting<unknown>, value: unknown): Html => {
  const text = isSecret ? "set, not shown" : Array.isArray(value) ? value.join(", ") : formatValue(value)
  const isDefault = value === defaultValue || (Array.isArray(value) && value.length === 0)
  return isDefault
    ? html`<span class="muted">${defaultText}</span>`
    : html`${status("good", "set")}<p class="mono">${text}</p>`
}

const formatValue = (value: unknown): string =>
  typeof value === "object" && value !== null ? Object.values(value).join(":") : String(value)

export const operatorPages = [hubsPage, settingsPage]
