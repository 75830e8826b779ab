import { assert, describe, layer } from "@effect/vitest"
import { Effect, Option, Schedule } from "effect"
import { Hub } from "#actors/operations/Hub.ts"
import { AccountStore } from "#domain/ports/AccountStore.ts"
import { EventLog } from "#domain/ports/EventLog.ts"
import { installed } from "#test/support/Prosody.ts"
import type { XmppClient } from "#test/support/XmppClient.ts"
import * as XmppWorld from "#test/support/XmppWorld.ts"
import { errors } from "./Errors.ts"

const { client, ext, external, externalComponent, makeWorld, plain, said } = XmppWorld

const PUBSUB = "http://jabber.org/protocol/pubsub"
const pubsub = (content: string) => `<pubsub xmlns='${PUBSUB}' xmlns:sf='${ext}'>${content}</pubsub>`

const subscribe = (client: XmppClient, nodes: ReadonlyArray<string>, more = "", jid = client.jid) =>
  client.request("set", pubsub(nodes.map((node) => `<subscribe node='${node}' jid='${jid}'${more}/>`).join("")))

const unsubscribe = (client: XmppClient, node: string, jid = client.jid) =>
  client.request("set", pubsub(`<unsubscribe node='${node}' jid='${jid}'/>`))

const retrieve = (client: XmppClient, node: string) => client.request("get", pubsub(`<items node='${node}'/>`))

const list = (client: XmppClient, attributes = "") => client.request("get", pubsub(`<subscriptions${attributes}/>`))

/** Nodes of a list. */
const nodes = (answer: { readonly children: ReadonlyArray<unknown> }) =>
  [...said(answer as Parameters<typeof said>[0]).matchAll(/ node='OUTSIDE\/(\w+)'/g)].map((match) => match[1])

/** Waits for the first fetch, after which published entries are new. */
const fetched = (client: XmppClient, node: string) =>
  retrieve(client, node).pipe(
    Effect.repeat({ until: (answer) => said(answer).includes("<item "), schedule: Schedule.spaced("20 millis") })
  )

const error = (type: string, condition: string, text: string, detail = "") =>
  `error <error type='${type}'><${condition} xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>` +
  `<text xmlns='urn:ietf:params:xml:ns:xmpp-stanzas' xml:lang='en'>${text}</text>${detail}</error>`

describe.skipIf(installed === undefined)("conversations over XMPP", () => {
  layer(XmppWorld.layer, { excludeTestServices: true })((it) => {
    it.effect("subscribes, retrieves, is notified and unsubscribes", () =>
      Effect.gen(function*() {
        const { ann, outside, publish } = yield* makeWorld
        publish("/feed", ["a"])
        const node = `${outside.url}/feed`
        const subscribed = said(yield* subscribe(ann, [node]))
        assert.include(
          subscribed,
          `result <pubsub xmlns='${PUBSUB}'><subscription jid='${ann.jid}' node='OUTSIDE/feed' subscription='subscribed'>` +
            `<status xmlns='${ext}' feed='OUTSIDE/feed'><http code='200'>Fetched (ring) 200 1 and parsed 1/1 entries</http>`
        )
        assert.include(subscribed, "<period>1</period><last_fetch>TIME</last_fetch><last_parse>TIME</last_parse>")

        yield* fetched(ann, node)
        const entry = (id: string) =>
          `<item id='${id}'><entry xmlns='http://www.w3.org/2005/Atom'><id>${id}</id><updated/><title>Title of ${id}</title>` +
          `<content type='text'>Text of ${id}</content></entry></item>`
        assert.strictEqual(
          said(yield* retrieve(ann, node)),
          `result <pubsub xmlns='${PUBSUB}'><items node='OUTSIDE/feed'>${entry("a")}</items></pubsub>`
        )

        publish("/feed", ["c", "b", "a"])
        yield* (yield* Hub).publish([node])
        const messages = () => ann.stanzas.filter(({ name }) => name === "message")
        yield* ann.until(() => messages().length === 2)
        for (const [at, id] of [[0, "b"], [1, "c"]] as const) {
          const message = messages()[at] ?? assert.fail()
          assert.strictEqual(message.attrs["type"], undefined)
          assert.strictEqual(message.attrs["from"], "push.xmpp.test")
          assert.notStrictEqual(message.attrs["xml:lang"], "")
          const event = plain(message, "jabber:client").replaceAll(outside.url, "OUTSIDE")
          assert.include(
            event,
            `<event xmlns='${PUBSUB}#event'><status xmlns='${ext}' feed='OUTSIDE/feed'><http code='200'>Fetched (ping) 200 `
          )
          assert.include(event, " and parsed 2/3 entries</http><next_fetch>TIME</next_fetch><title>A feed</title>")
          assert.include(event, `<items node='OUTSIDE/feed'>${entry(id)}</items></event>`)
        }

        assert.strictEqual(said(yield* unsubscribe(ann, node)), "result ")
        assert.strictEqual(said(yield* unsubscribe(ann, node)), "result ")
        assert.strictEqual(
          said(yield* retrieve(ann, node)),
          `result <pubsub xmlns='${PUBSUB}'><items node='OUTSIDE/feed'/></pubsub>`
        )
      }))

    it.effect("notifies in JSON, and in the namespace of old clients", () =>
      Effect.gen(function*() {
        const { outside, publish } = yield* makeWorld
        const accounts = yield* AccountStore
        yield* accounts.update("bob", { legacyItemNamespace: true })
        const bob = yield* client("bob")
        publish("/json", ["a"])
        const node = `${outside.url}/json`
        yield* subscribe(bob, [node], " sf:format='json'")
        yield* fetched(bob, node)
        publish("/json", ["b", "a"])
        yield* (yield* Hub).publish([node])
        yield* bob.until(() => bob.stanzas.some(({ name }) => name === "message"))
        const message = bob.stanzas.find(({ name }) => name === "message")
        const event = message === undefined ? "" : plain(message, "jabber:client")
        assert.include(
          event,
          `<item xmlns='${PUBSUB}'><content xmlns='http://www.w3.org/2005/Atom'>{"id":"b","title":"Title of b","content":"Text of b"}</content></item>`
        )
      }))

    it.effect("notifies of the events of the account, in Atom and in JSON", () =>
      Effect.gen(function*() {
        yield* makeWorld
        const [ann, bob] = [yield* client("ann"), yield* client("bob")]
        const node = "http://windhover.xmpp.test/events"
        assert.include(
          said(yield* subscribe(ann, [node])),
          `<subscription jid='${ann.jid}' node='${node}' subscription='subscribed'><status xmlns='${ext}' feed='${node}'>`
        )
        yield* subscribe(bob, [node], " sf:format='json'")
        const accounts = yield* AccountStore
        const { publish } = yield* EventLog
        for (const login of ["ann", "bob"]) {
          const { id } = Option.getOrThrow(yield* accounts.find(login))
          const topic = `http://feeds.example/${login}?a&b`
          const fields = { accountId: id, subscriptionId: 7, topic, endpoint: "http://hooks.example/" }
          yield* publish({ type: "subscription.ended", ...fields, reason: "gone", message: "It answered 410." })
        }
        const eventOf = Effect.fnUntraced(function*(client: XmppClient) {
          const messages = () => client.stanzas.filter(({ name }) => name === "message")
          yield* client.until(() => messages().length > 0)
          const [message = assert.fail(), ...more] = messages()
          assert.deepStrictEqual(more, [])
          return plain(message, "jabber:client")
        })
        const atom = yield* eventOf(ann)
        assert.include(atom, `<status xmlns='${ext}' feed='${node}'>`)
        assert.include(
          atom,
          "<title>The subscription has ended: http://hooks.example/ for http://feeds.example/ann?a&b.</title>"
        )
        assert.include(atom, "<category term='subscription.ended'/>")
        assert.match(
          atom,
          new RegExp(`<event xmlns='${ext}' type='subscription.ended' version='1'>\\{"version":1,"id":`)
        )
        assert.include(atom, `"topic":"http://feeds.example/ann?a&b","endpoint":"http://hooks.example/"`)
        const json = /<content[^>]*>(\{.*\})<\/content>/.exec(yield* eventOf(bob))?.[1] ?? "{}"
        assert.deepInclude(JSON.parse(json).event, { version: 1, type: "subscription.ended" })
        assert.include(JSON.parse(json).event.data, { topic: "http://feeds.example/bob?a&b", reason: "gone" })
        assert.include(said(yield* retrieve(ann, node)), "ann?a&b")
        assert.notInclude(said(yield* retrieve(ann, node)), "bob?a&b")
        assert.strictEqual(said(yield* unsubscribe(ann, node)), "result ")
      }))

    it.effect("notifies of an error once, by its status alone", () =>
      Effect.gen(function*() {
        const { ann, outside, publish } = yield* makeWorld
        publish("/broken", ["a"])
        const node = `${outside.url}/broken`
        yield* subscribe(ann, [node])
        yield* fetched(ann, node)
        outside.publish("/broken", { status: 500, contentType: "text/plain", body: "" })
        yield* (yield* Hub).publish([node])
        yield* ann.until(() => ann.stanzas.some(({ name }) => name === "message"))
        const [message, ...more] = ann.stanzas.filter(({ name }) => name === "message")
        const event = message === undefined ? "" : plain(message, "jabber:client").replaceAll(outside.url, "OUTSIDE")
        assert.include(event, "<http code='500'>")
        assert.include(event, "</status><items node='OUTSIDE/broken'/></event>")
        assert.strictEqual(more.length, 0)
      }))

    it.effect("lists its own subscriptions, twenty per page, oldest first", () =>
      Effect.gen(function*() {
        const { ann, outside } = yield* makeWorld
        const bob = yield* client("bob")
        for (const prefix of ["l", "m"]) {
          const many = Array.from({ length: 15 }, (_, i) => `${outside.url}/${prefix}${i}`)
          assert.include(said(yield* subscribe(ann, many)), "result <pubsub")
        }
        const first = yield* list(ann)
        assert.include(said(first), `<subscriptions {${ext}}page='1'>`)
        assert.strictEqual(nodes(first).length, 20)
        const second = yield* list(ann, ` jid='${ann.jid}' sf:page='2'`)
        const wanted = ["l", "m"].flatMap((prefix) => Array.from({ length: 15 }, (_, i) => `${prefix}${i}`))
        assert.deepStrictEqual([...nodes(first), ...nodes(second)].filter((node) => /^[lm]\d/.test(node ?? "")), wanted)
        assert.match(
          said(second),
          / jid='ann@xmpp.test' node='OUTSIDE\/m14' subscription='subscribed'><status xmlns='[^']+' feed=/
        )
        assert.deepStrictEqual(nodes(yield* list(ann, " sf:page='9'")), [])
        assert.notInclude(nodes(yield* list(bob)), "l1")
      }))

    it.effect("lets an external component act for all addresses of its domain, and no other address", () =>
      Effect.gen(function*() {
        const { outside } = yield* makeWorld
        const accounts = yield* AccountStore
        yield* accounts.update("bob", { jid: external })
        yield* accounts.update("ann", { jid: `ann@${external}` })
        const component = yield* externalComponent
        const node = `${outside.url}/external`
        const subscribe = (from: string, jid: string) =>
          Effect.map(component.request(from, "set", pubsub(`<subscribe node='${node}' jid='${jid}'/>`)), said)
        assert.include(yield* subscribe(`${external}/a`, `robot@${external}/b`), `jid='robot@${external}/b'`)
        assert.include(yield* subscribe(external, `other@${external}`), `jid='other@${external}'`)
        assert.include(yield* subscribe(external, "bob@xmpp.test"), "<invalid-jid ")
        // an address of the domain is not the domain: it speaks for nobody, or for itself if an account has it
        assert.include(yield* subscribe(`robot@${external}/a`, `robot@${external}`), "<forbidden ")
        assert.include(yield* subscribe(`ann@${external}/a`, `robot@${external}`), "<invalid-jid ")
        assert.include(yield* subscribe(`ann@${external}/a`, `ann@${external}`), `jid='ann@${external}'`)

        const list = (from: string, attributes = "") =>
          Effect.map(
            component.request(from, "get", pubsub(`<subscriptions${attributes}/>`)),
            (answer) => [...said(answer).matchAll(/ jid='([^']+)'/g)].map((match) => match[1])
          )
        assert.deepStrictEqual(yield* list(external), [`robot@${external}`, `other@${external}`])
        assert.deepStrictEqual(yield* list(external, ` jid='other@${external}'`), [`other@${external}`])
        assert.deepStrictEqual(yield* list(`ann@${external}/b`), [`ann@${external}`])
      }))

    it.effect("subscribes to all resources or to none", () =>
      Effect.gen(function*() {
        const { ann, outside } = yield* makeWorld
        const answer = yield* subscribe(ann, [`${outside.url}/all`, "ftp://feeds.test/none"])
        assert.include(said(answer), "<not-acceptable ")
        assert.notInclude(said(yield* list(ann, " sf:page='1'")), "/all")
      }))

    it.effect("refuses a page that advertises feeds, except for its existing subscribers", () =>
      Effect.gen(function*() {
        const { ann, outside } = yield* makeWorld
        const node = `${outside.url}/advertising`
        outside.publish("/advertising", {
          status: 200,
          contentType: "text/html",
          body: "<html><head><link rel=alternate type=application/atom+xml href=/news.xml></head><body>x</body></html>"
        })
        const watched = yield* subscribe(ann, [node]).pipe(
          Effect.repeat({
            until: (answer) => said(answer).includes(" parsed "),
            schedule: Schedule.spaced("20 millis")
          })
        )
        assert.include(said(watched), "subscription='subscribed'")
        assert.include(said(yield* subscribe(ann, [`${node}#html`])), "subscription='subscribed'")
        yield* unsubscribe(ann, node)
        assert.strictEqual(
          said(yield* subscribe(ann, [node])),
          error(
            "modify",
            "not-acceptable",
            "Please provide a node that is a feed. \"OUTSIDE/advertising\" is an HTML page that advertises the feed OUTSIDE/news.xml: " +
              "subscribe to one of them, or add the fragment #html to the node to watch the page itself."
          )
        )
        yield* unsubscribe(ann, `${node}#html`)
      }))

    it.effect("names the node in the refusal of its fragment", () =>
      Effect.gen(function*() {
        const { ann, outside } = yield* makeWorld
        const answer = said(yield* subscribe(ann, [`${outside.url}/page#/html/body`]))
        assert.include(answer, "<not-acceptable ")
        assert.include(answer, "The fragment of node selects nothing: ")
        assert.notInclude(answer, "hub.topic")
      }))

    it.effect("refuses a wrong request with its condition, and does not echo the request", () =>
      Effect.gen(function*() {
        const { ann, outside } = yield* makeWorld
        const node = `${outside.url}/feed`
        const conditions = Effect.fnUntraced(function*(type: "get" | "set", payload: string) {
          const answer = yield* ann.request(type, payload)
          const names = [
            ...said(answer).matchAll(/<([a-z-]+) (?:feature='[^']*' )?xmlns='[^']*(?:xmpp-stanzas|pubsub#errors)'/g)
          ]
          const found = /<error type='(\w+)'>/.exec(said(answer))?.[1]
          return [found, ...names.map((match) => match[1]).filter((name) => name !== "text")].join(" ")
        })
        const wrong = { node, jid: ann.jid, ext }
        for (const [name, [type, payload, expected]] of Object.entries(errors)) {
          assert.strictEqual(yield* conditions(type, payload(wrong)), expected, name)
        }
      }))

    it.effect("refuses an address without an account, but answers service discovery", () =>
      Effect.gen(function*() {
        const { outside } = yield* makeWorld
        const eve = yield* client("eve")
        assert.strictEqual(
          said(yield* subscribe(eve, [`${outside.url}/feed`])),
          error(
            "auth",
            "forbidden",
            `No account has the address "${eve.jid}". Log in as &lt;login&gt;@xmpp.test, or have it set as the JID of your account.`
              .replaceAll("&lt;", "<").replaceAll("&gt;", ">")
          )
        )
        assert.include(
          said(yield* eve.request("get", "<query xmlns='http://jabber.org/protocol/disco#info'/>")),
          "<identity category='pubsub' name='Windhover' type='service'/>"
        )
        assert.strictEqual(said(yield* eve.request("get", "<ping xmlns='urn:xmpp:ping'/>")), "result ")
      }))

    it.effect("describes a subscribed resource as a leaf node", () =>
      Effect.gen(function*() {
        const { ann, outside, publish } = yield* makeWorld
        publish("/leaf", ["a"])
        const node = `${outside.url}/leaf`
        yield* subscribe(ann, [node])
        yield* fetched(ann, node)
        const info = yield* ann.request("get", `<query xmlns='http://jabber.org/protocol/disco#info' node='${node}'/>`)
        assert.include(said(info), "<identity category='pubsub' name='A feed' type='leaf'/>")
      }))
  })
})
