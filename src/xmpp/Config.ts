import { Redacted } from "effect"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import type { Account } from "./Link.ts"

/** Where the component connects, and the domain of its server; undefined when XMPP is off. */
export const configOf = (
  { xmppComponent, xmppDomain, xmppHost, xmppPort, xmppSecret }: SettingsValues
): (Account & { readonly domain: string }) | undefined =>
  xmppComponent === undefined ? undefined : {
    component: xmppComponent,
    domain: xmppDomain,
    host: xmppHost,
    port: xmppPort,
    secret: xmppSecret ?? Redacted.make("")
  }
