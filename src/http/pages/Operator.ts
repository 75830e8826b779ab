import { Effect } from "effect"
import { type ListedRunner, Runners } from "#actors/cluster/Runners.ts"
import { HubSubscriptionStore } from "#domain/ports/HubSubscriptionStore.ts"
import { type HubReport, maxConsecutiveMisses } from "#domain/websub/HubSubscription.ts"
import type { Setting } from "#domain/Setting.ts"
import { settingsTable } from "#domain/SettingsTable.ts"
import { type Html, html } from "./Html.ts"
import { page } from "./Page.ts"
import { address, ago, count, status, table } from "./Parts.ts"
import { storeCall } from "./StoreCall.ts"

/** Maximum of hubs on the page. */
const maxHubs = 200

const runnersPage = page(
  "/dashboard/runners",
  "admin",
  Effect.fnUntraced(function*({ now }) {
    const runners = yield* storeCall(Runners.use(({ list }) => list))
    const versions = new Set(runners.map(({ version }) => version))
    return {
      title: "Runners",
      lead: html`${
        runners.length === 1
          ? html`One process holds all partitions of the service.`
          : html`The processes of the service. Each polls the resources of its partitions, and delivers their news.`
      }${versions.size > 1 ? html` They have different versions, as during an update.` : undefined}`,
      body: table(
        "Runners",
        [
          {
            title: "Runner",
            cell: ({ isThis, name, version }) =>
              html`<div><span class="mono">${name}</span><p class="hint">${version}${
                isThis ? " · shows this page" : undefined
              }</p></div>`
          },
          { title: "State", cell: (runner) => runnerStatus(runner, now) },
          {
            title: "Partitions",
            kind: "number",
            cell: ({ isSilent, partitions }) => isSilent ? "–" : count(partitions) // the others have them by now
          },
          {
            title: "Resources",
            kind: "number",
            cell: ({ failing, healthy, late }) =>
              html`<div>${count(healthy + failing)}<p class="hint">${count(failing)} failing, ${
                count(late)
              } late</p></div>`
          },
          { title: "Polls/min", kind: "number", cell: ({ traffic }) => countOr(traffic?.polls) },
          {
            title: "Deliveries/min",
            kind: "number",
            cell: ({ traffic }) =>
              html`<div>${countOr(traffic?.delivered)}${
                (traffic?.failedDeliveries ?? 0) > 0
                  ? html`<p class="hint">${countOr(traffic?.failedDeliveries)} failed</p>`
                  : undefined
              }</div>`
          },
          {
            title: "CPU",
            kind: "number",
            cell: ({ cpu, eventLoop }) =>
              html`<div>${percent(cpu)}<p class="hint">event loop ${percent(eventLoop)}</p></div>`
          },
          { title: "Memory", kind: "number", cell: ({ memory }) => `${count(memory / 1_000_000)} MB` },
          { title: "Started", kind: "number", cell: ({ startedAt }) => ago(startedAt, now) }
        ],
        runners,
        html`No runner.`
      )
    }
  })
)

const runnerStatus = ({ isSilent, partitions, seenAt }: ListedRunner, now: number): Html =>
  isSilent
    ? html`<div>${status("bad", "silent")}<p class="hint">last sign ${ago(seenAt, now)}</p></div>`
    : partitions === 0
    ? status("idle", "no partition yet")
    : status("good", "running")

const countOr = (value: number | undefined): string => value === undefined ? "–" : count(value)

/** Of a core, or of the time. */
const percent = (share: number): string => `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %`

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
    ? html`<p class="muted">${defaultText}</p>`
    : html`${status("good", "set")}<p class="mono">${text}</p>`
}

const formatValue = (value: unknown): string =>
  typeof value === "object" && value !== null ? Object.values(value).join(":") : String(value)

export const operatorPages = [runnersPage, hubsPage, settingsPage]
