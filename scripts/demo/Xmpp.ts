import { type Client, client as connect, xml } from "@xmpp/client"
import type { Element } from "@xmpp/xml"
import { mkdir } from "node:fs/promises"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { install } from "#scripts/prosody/Install.ts"
import { freePort } from "#scripts/FreePort.ts"
import { start, stop } from "#scripts/prosody/Server.ts"

const domain = "localhost"
const component = "push.localhost"
const secret = "a secret that only Windhover and the XMPP server know"
const pubsub = "http://jabber.org/protocol/pubsub"

/** An XMPP server on loopback with a component port for Windhover. */
export interface XmppServer {
  /** Windhover's settings for the server. */
  readonly settings: Readonly<Record<string, string>>
  /** Logs in and subscribes; `onTitles` gets the titles of each notification. Resolves to the subscribed JID. */
  readonly subscribe: (
    account: { readonly login: string; readonly password: string },
    topic: string,
    onTitles: (titles: ReadonlyArray<string>) => void
  ) => Promise<string>
  readonly stop: () => Promise<void>
}

/** Unpacks Prosody at the first call, and starts the server. Fails without access to Debian's packages. */
export const openXmpp = async (directory: string, windhoverPort: number): Promise<XmppServer> => {
  const installed = await install(join(import.meta.dirname, "../../data/prosody"))
  const own = join(directory, "prosody")
  await mkdir(own)
  const [clientPort, componentPort] = [await freePort(), await freePort()]
  const authentication = `http://127.0.0.1:${windhoverPort}`
  const server = await start(installed, {
    directory: own,
    clientPort,
    componentPort,
    domain,
    component,
    secret,
    authentication
  })
  let subscriber: Client | undefined
  return {
    settings: {
      WINDHOVER_XMPP_COMPONENT: component,
      WINDHOVER_XMPP_DOMAIN: domain,
      WINDHOVER_XMPP_SECRET: secret,
      WINDHOVER_XMPP_PORT: String(componentPort)
    },
    subscribe: async (account, topic, onTitles) => {
      subscriber = connect({
        service: `xmpp://127.0.0.1:${clientPort}`,
        domain,
        credentials: (authenticate) => authenticate({ username: account.login, password: account.password }, "PLAIN")
      })
      subscriber.reconnect.stop()
      subscriber.on("error", () => {}) // an error rejects the pending request
      subscriber.on("stanza", (stanza: Element) => {
        const titles = readTitles(stanza)
        if (titles.length > 0) onTitles(titles)
      })
      await subscriber.start()
      await subscriber.send(xml("presence"))
      const jid = `${account.login}@${domain}`
      await retryRequest(subscriber, () =>
        xml(
          "iq",
          { type: "set", to: component },
          xml("pubsub", { xmlns: pubsub }, xml("subscribe", { node: topic, jid }))
        ))
      return jid
    },
    stop: async () => {
      await subscriber?.stop().catch(() => {}) // Ctrl-C may end the server first
      await stop(server)
    }
  }
}

/** Retries every 0.2 s for 10 s: the server answers with an error until Windhover's component is connected. */
const retryRequest = async (subscriber: Client, request: () => Element): Promise<void> => {
  for (let left = 50;; left--) {
    try {
      return void await subscriber.iqCaller.request(request())
    } catch (error) {
      if (left === 0 || !(error instanceof Error) || error.name !== "StanzaError") throw error
      await sleep(200)
    }
  }
}

const readTitles = (stanza: Element): ReadonlyArray<string> =>
  (stanza.getChild("event", `${pubsub}#event`)?.getChild("items")?.children ?? []).flatMap((item) => {
    const title = typeof item === "string" ? null : item.getChild("entry")?.getChildText("title")
    return title === null || title === undefined ? [] : [title]
  })
