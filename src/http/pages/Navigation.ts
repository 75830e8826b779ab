import type { Needs } from "./Page.ts"

interface NavigationItem {
  readonly path: string
  readonly label: string
  readonly needs: Needs
}

interface NavigationGroup {
  readonly label: string
  readonly items: ReadonlyArray<NavigationItem>
}

/** The links of the navigation. An item shows when the session has its right. */
export const navigation: ReadonlyArray<NavigationGroup> = [
  {
    label: "Service",
    items: [
      { path: "/dashboard", label: "Overview", needs: "session" },
      { path: "/dashboard/resources", label: "Resources", needs: "list" },
      { path: "/dashboard/subscriptions", label: "Subscriptions", needs: "list" },
      { path: "/dashboard/deliveries", label: "Deliveries", needs: "list" },
      { path: "/dashboard/subscriptions/new", label: "New subscription", needs: "subscribe" }
    ]
  },
  {
    label: "Access",
    items: [
      { path: "/dashboard/tokens", label: "Tokens", needs: "session" },
      { path: "/dashboard/account", label: "Account", needs: "session" }
    ]
  },
  {
    label: "Operator",
    items: [
      { path: "/dashboard/accounts", label: "Accounts", needs: "admin" },
      { path: "/dashboard/runners", label: "Runners", needs: "admin" },
      { path: "/dashboard/hubs", label: "Hubs", needs: "admin" },
      { path: "/dashboard/settings", label: "Settings", needs: "admin" }
    ]
  }
]
