import { assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { execFile } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { promisify } from "node:util"
import { withSettings } from "#scripts/Environment.ts"
import { freePort } from "#scripts/FreePort.ts"
import { available } from "#test/support/Available.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { startThirdPartyClient, type ThirdPartyClient } from "#test/support/ThirdPartyClient.ts"
import { openFakeWeb } from "#test/support/FakeWeb.ts"
import { installed, prosody, secret } from "#test/support/Prosody.ts"
import { startProgram } from "#test/support/Program.ts"
import { patience, start } from "#test/support/Service.ts"

const run = promisify(execFile)
const root = join(import.meta.dirname, "../..")
const password = "end-to-end-token-0123456789"

/** Debian's Python, because another Python cannot import Debian's packages. */
const python = "/usr/bin/python3"
const superfeedr = join(import.meta.dirname, "superfeedr")

const hasSuperfeedr = await available("superfeedr", run("npm", ["ci", "--ignore-scripts"], { cwd: superfeedr }))
const hasSlixmpp = await available("slixmpp (apt-get install python3-slixmpp)", run(python, ["-c", "import slixmpp"]))

/** Built-in names of the original service's clients. */
const names = { domain: "superfeedr.com", component: "firehoser.superfeedr.com" }

/** The service, an XMPP server with its component and its logins, and a publisher; all on loopback. */
const serving = Effect.gen(function*() {
  const outside = yield* openFakeWeb
  const port = yield* Effect.promise(freePort)
  const server = yield* prosody(`http://127.0.0.1:${port}`, undefined, names)
  const variables = {
    WINDHOVER_PORT: String(port),
    WINDHOVER_DATA_DIR: yield* temporaryDirectory,
    WINDHOVER_XMPP_COMPONENT: names.component,
    WINDHOVER_XMPP_DOMAIN: names.domain,
    WINDHOVER_XMPP_SECRET: secret,
    WINDHOVER_XMPP_PORT: String(server.componentPort)
  }
  const service = yield* start(variables)
  yield* Effect.sync(() => service.said.some((line) => line.includes("XMPP: the component is connected."))).pipe(
    Effect.repeat({ until: (connected) => connected, schedule: Schedule.spaced("50 millis") })
  )
  const entry = (id: string) =>
    `<entry><id>${id}</id><title>Title of ${id}</title><link rel="alternate" href="http://feeds.test/${id}"/>` +
    `<category term="a word"/><author><name>Ann</name></author><content>Text &amp; é€😀 of ${id}</content></entry>`
  return {
    node: `${outside.url}/feed`,
    clientPort: String(server.clientPort),
    publish: (...ids: ReadonlyArray<string>) =>
      outside.publish("/feed", {
        status: 200,
        contentType: "application/atom+xml",
        body: `<feed xmlns="http://www.w3.org/2005/Atom"><title>A feed</title><id>urn:feed</id>${
          ids.map(entry).join("")
        }</feed>`
      }),
    fail: Effect.sync(() => outside.publish("/feed", { status: 500, contentType: "text/plain", body: "" })),
    ping: Effect.suspend(() => service.call({ "hub.mode": "publish", "hub.url": `${outside.url}/feed` })),
    /** Waits for the first fetch. */
    retrieved: Effect.suspend(() => service.call({ "hub.mode": "retrieve", "hub.topic": `${outside.url}/feed` })).pipe(
      Effect.repeat({ until: ({ text }) => text.includes("Title of a"), schedule: Schedule.spaced("50 millis") })
    ),
    windhover: (...args: ReadonlyArray<string>) =>
      Effect.promise(() => run(join(root, "bin/windhover"), args, { env: withSettings(variables) }))
  }
})

/** Waits for the first fetch: later entries are new. */
const fetched = ({ ask }: ThirdPartyClient, node: string) =>
  ask("retrieve", node).pipe(
    Effect.repeat({
      until: (answer) => JSON.stringify(answer).includes("Title of a"),
      schedule: Schedule.spaced("50 millis")
    })
  )

const heard = ({ events }: ThirdPartyClient, name: string) =>
  events.filter(({ event }) => event === name).map(({ value }) => value)

describe.skipIf(installed === undefined)("clients of others, as they come", () => {
  it.live.skipIf(!hasSuperfeedr)(
    "superfeedr 0.2.0, of the original service, finds everything where it looks",
    () =>
      Effect.gen(function*() {
        const { clientPort, fail, node, ping, publish, windhover } = yield* serving
        yield* windhover("account", "set", "admin", "--legacy-item-namespace")
        publish("a")
        const client = yield* startThirdPartyClient(join(root, "bin/node"), [
          join(superfeedr, "client.ts"),
          clientPort,
          "admin",
          password
        ])
        const entry = (id: string) => {
          const link = { type: "text/html", rel: "alternate", title: `Title of ${id}`, href: `http://feeds.test/${id}` }
          return {
            id,
            updated: "",
            title: `Title of ${id}`,
            content: `Text & é€😀 of ${id}`,
            link,
            links: { alternate: [link] },
            categories: [{ term: "a word" }],
            authors: [{ name: "Ann", uri: null, email: null }]
          }
        }
        assert.include(yield* client.ask("subscribe", node), { url: node, status: "subscribed" })
        assert.deepStrictEqual(yield* fetched(client, node), { entries: [entry("a")] })
        const [listed, ...more] = (yield* client.ask("list")) as ReadonlyArray<Readonly<Record<string, unknown>>>
        assert.include(listed, { url: node, status: "subscribed", title: "A feed", httpCode: 200 })
        for (const time of ["nextFetch", "lastFetch", "lastParse"]) assert.isNumber(listed?.[time], time)
        assert.deepStrictEqual(more, [])

        publish("c", "b", "a")
        yield* ping
        yield* client.until(() => heard(client, "notification").length > 0)
        assert.containSubset(heard(client, "notification"), [
          { feed: { url: node, title: "A feed", httpCode: 200 }, entries: [entry("c"), entry("b")] }
        ])

        yield* fail
        yield* Effect.delay(ping, "1 second") // one ping per second is answered
        yield* client.until(() => heard(client, "status").length > 0)
        assert.containSubset(heard(client, "status"), [{ feed: { url: node, httpCode: 500 }, entries: [] }])

        assert.deepStrictEqual(yield* client.ask("unsubscribe", node), { url: node })
        assert.deepStrictEqual(yield* client.ask("list"), [])
        assert.deepStrictEqual(yield* client.ask("retrieve", node), { entries: [] })
      }),
    patience
  )

  it.live.skipIf(!hasSlixmpp)("slixmpp, with its own XEP-0060 and disco", () =>
    Effect.gen(function*() {
      const { clientPort, node, ping, publish } = yield* serving
      publish("a")
      const client = yield* startThirdPartyClient(python, [
        join(import.meta.dirname, "slixmpp/client.py"),
        clientPort,
        `admin@${names.domain}`,
        password,
        names.component
      ])
      const entry = (id: string) => ({
        "": "{http://www.w3.org/2005/Atom}entry",
        item: id,
        id,
        title: `Title of ${id}`,
        content: `Text & é€😀 of ${id}`
      })
      const subscription = { node, jid: `admin@${names.domain}`, subscription: "subscribed" }
      assert.deepStrictEqual(yield* client.ask("subscribe", node), subscription)
      assert.deepStrictEqual(yield* fetched(client, node), { node, entries: [entry("a")] })
      assert.deepStrictEqual(yield* client.ask("list"), [subscription])
      assert.containSubset(yield* client.ask("info"), { identities: [["pubsub", "service", null, "Windhover"]] })

      publish("c", "b", "a")
      yield* ping
      yield* client.until(() => heard(client, "notification").length === 2)
      publish("d", "c", "b", "a")
      yield* Effect.delay(ping, "1 second") // one ping per second is answered
      yield* client.until(() => heard(client, "notification").length === 3)
      assert.deepStrictEqual(heard(client, "notification"), [
        { node, entries: [entry("b")] },
        { node, entries: [entry("c")] },
        { node, entries: [entry("d")] }
      ])
      assert.deepStrictEqual(yield* client.ask("retrieve a", node), { node, entries: [entry("a")] })

      assert.strictEqual(yield* client.ask("unsubscribe", node), "result")
      assert.deepStrictEqual(yield* client.ask("list"), [])
      assert.deepStrictEqual(yield* client.ask("retrieve", node), { node, entries: [] })
    }), patience)

  it.live.skipIf(!hasSlixmpp)("slixmpp, by the program in docs/xmpp.md", () =>
    Effect.gen(function*() {
      const { clientPort, node, ping, publish, retrieved } = yield* serving
      publish("a")
      const written = /```python\n(.*?)```/s.exec(readFileSync(join(root, "docs/xmpp.md"), "utf8"))?.[1] ?? ""
      const replacements: ReadonlyArray<readonly [written: string, here: string]> = [
        ["admin@localhost", `admin@${names.domain}`],
        ["PASSWORD", password],
        ["push.localhost", names.component],
        ["https://xkcd.com/rss.xml", node],
        ["5222", clientPort]
      ]
      const program = replacements.reduce((text, [written, here]) => {
        assert.include(text, written)
        return text.replaceAll(written, here)
      }, written)
      const reader = yield* startProgram(python, ["-c", program])
      yield* reader.until(() => reader.said.includes(`subscribed to ${node}`))
      yield* retrieved
      publish("b", "a")
      yield* ping
      yield* reader.until(() => reader.said.includes("Title of b"))
      publish("d", "c", "b", "a")
      yield* Effect.delay(ping, "1 second") // one ping per second is answered
      yield* reader.until(() => reader.said.includes("Title of d"))
      assert.deepStrictEqual(reader.said, [`subscribed to ${node}`, "Title of b", "Title of c", "Title of d"])
    }), patience)
})
