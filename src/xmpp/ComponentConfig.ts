import { Redacted } from "effect"
import type { SettingsValues } from "#domain/ports/Settings.ts"

/** Address of the server's component port, and the names and secret of both sides. */
export interface ComponentConfig {
  readonly host: string
  readonly port: number
  /** Name of the component, a domain. */
  readonly component: string
  readonly secret: Redacted.Redacted
  /** Domain of the server and of its accounts, in the server's spelling. */
  readonly domain: string
}

/** The component's address and the domain of its server; undefined when XMPP is off. */
export const getComponentConfig = (
  { xmppComponent, xmppDomain, xmppHost, xmppPort, xmppSecret }: SettingsValues
): ComponentConfig | undefined =>
  xmppComponent === undefined ? undefined : {
    component: xmppComponent,
    domain: xmppDomain,
    host: xmppHost,
    port: xmppPort,
    secret: xmppSecret ?? Redacted.make("")
  }
