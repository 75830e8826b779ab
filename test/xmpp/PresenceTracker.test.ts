import { assert, describe, it } from "@effect/vitest"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import { PresenceTracker } from "#xmpp/PresenceTracker.ts"
import { stanza } from "#test/support/Stanza.ts"

const presence = (from: string, type?: string) =>
  stanza(`<presence from='${from}' to='push.xmpp.test'${type === undefined ? "" : ` type='${type}'`}/>`)

const online = (...presences: ReadonlyArray<readonly [from: string, type?: string]>) => {
  const online = new PresenceTracker()
  const came = presences.map(([from, type]) => online.record(presence(from, type)))
  return { online, came }
}

describe("Online", () => {
  it("does not know a JID without a presence", () => {
    assert.strictEqual(new PresenceTracker().get("ann@xmpp.test"), "unknown")
  })

  it("counts resources: a JID is offline without its last resource", () => {
    const { came, online: known } = online(["ann@xmpp.test/a"], ["Ann@xmpp.test/b"], ["ann@xmpp.test/a", "unavailable"])
    assert.deepStrictEqual(came, ["ann@xmpp.test", undefined, undefined])
    assert.strictEqual(known.get("ann@xmpp.test"), "online")
    known.record(presence("ann@xmpp.test/b", "unavailable"))
    assert.strictEqual(known.get("ann@xmpp.test"), "offline")
    assert.strictEqual(known.record(presence("ann@xmpp.test/b")), "ann@xmpp.test")
  })

  it("treats an unavailable bare JID as all its resources", () => {
    const { online: known } = online(["ann@xmpp.test/a"], ["ann@xmpp.test/b"], ["ann@xmpp.test", "unavailable"])
    assert.strictEqual(known.get("ann@xmpp.test"), "offline")
  })

  it.each(["error", "probe", "subscribe", "subscribed", "unsubscribed"])("learns nothing from type %s", (type) => {
    assert.strictEqual(online(["ann@xmpp.test/a", type]).online.get("ann@xmpp.test"), "unknown")
  })

  it("forgets all presences when the connection ends", () => {
    const { online: known } = online(["ann@xmpp.test/a"])
    known.forget()
    assert.strictEqual(known.get("ann@xmpp.test"), "unknown")
  })

  it("keeps no socket buffer of a JID in memory", () => {
    setFlagsFromString("--expose-gc")
    const collect: () => void = runInNewContext("gc")
    const { online: known } = online()
    collect()
    const before = process.memoryUsage().heapUsed
    for (let i = 0; i < 200; i++) {
      const [user, home] = [`user-of-a-long-name-${i}`, `resource-of-a-long-name-${i}`]
      known.record(stanza(`<presence from='${user}@xmpp.test/${home}' id='${"x".repeat(256 * 1024)}'/>`))
    }
    collect()
    assert.isBelow(process.memoryUsage().heapUsed - before, 10 * 1024 * 1024) // of 50 MB of stanzas
    assert.strictEqual(known.get("user-of-a-long-name-7@xmpp.test"), "online")
  })

  it("remembers the 10,000 JIDs with the newest presence, and sixteen resources each", () => {
    const { online: known } = online(["first@xmpp.test/a"], ["ann@xmpp.test/a"])
    for (let i = 0; i < 9_998; i++) known.record(presence(`user${i}@xmpp.test/a`))
    known.record(presence("first@xmpp.test/b"))
    known.record(presence("last@xmpp.test/b"))
    assert.deepStrictEqual(["first", "ann", "last"].map((local) => known.get(`${local}@xmpp.test`)), [
      "online",
      "unknown",
      "online"
    ])
    for (let i = 0; i < 1_000; i++) known.record(presence(`last@xmpp.test/${i}`))
    known.record(presence("last@xmpp.test/b", "unavailable"))
    for (let i = 0; i < 15; i++) known.record(presence(`last@xmpp.test/${i}`, "unavailable"))
    assert.strictEqual(known.get("last@xmpp.test"), "offline")
  })
})
