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
  it("knows nobody who was not heard of", () => {
    assert.strictEqual(new PresenceTracker().get("ann@xmpp.test"), "unknown")
  })

  it("counts resources: the last one that leaves makes an address go offline", () => {
    const { came, online: known } = online(["ann@xmpp.test/a"], ["Ann@xmpp.test/b"], ["ann@xmpp.test/a", "unavailable"])
    assert.deepStrictEqual(came, ["ann@xmpp.test", undefined, undefined])
    assert.strictEqual(known.get("ann@xmpp.test"), "online")
    known.record(presence("ann@xmpp.test/b", "unavailable"))
    assert.strictEqual(known.get("ann@xmpp.test"), "offline")
    assert.strictEqual(known.record(presence("ann@xmpp.test/b")), "ann@xmpp.test")
  })

  it("takes a bare address that leaves for all of it", () => {
    const { online: known } = online(["ann@xmpp.test/a"], ["ann@xmpp.test/b"], ["ann@xmpp.test", "unavailable"])
    assert.strictEqual(known.get("ann@xmpp.test"), "offline")
  })

  it.each(["error", "probe", "subscribe", "subscribed", "unsubscribed"])("learns nothing from type %s", (type) => {
    assert.strictEqual(online(["ann@xmpp.test/a", type]).online.get("ann@xmpp.test"), "unknown")
  })

  it("knows nothing any more when the connection is gone", () => {
    const { online: known } = online(["ann@xmpp.test/a"])
    known.forget()
    assert.strictEqual(known.get("ann@xmpp.test"), "unknown")
  })

  it("does not hold on to the reads that addresses came in", () => {
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

  it("remembers 10,000 addresses, those that were heard of last, and sixteen resources of one", () => {
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
