import { assert, describe, it } from "@effect/vitest"
import { Effect, Latch, Logger, Schedule } from "effect"
import { conditions, connectScripted, iq } from "#test/support/ScriptedXmpp.ts"

/** Requests that reach accounts are never answered; pings are at once. */
const holding = connectScripted({ accounts: { find: () => Effect.never } })

const list = "<pubsub xmlns='http://jabber.org/protocol/pubsub'><subscriptions/></pubsub>"
const ping = "<ping xmlns='urn:xmpp:ping'/>"

describe("a flood of stanzas", () => {
  it.live("of one address is told to wait, and keeps nobody else from an answer", () =>
    Effect.gen(function*() {
      const { send, take } = yield* holding
      for (let i = 1; i <= 32; i++) send(iq(`held${i}`, `mallory@xmpp.test/${i}`, list))
      send(iq("more", "mallory@xmpp.test/a", list))
      const refused = yield* take
      assert.strictEqual(refused.attrs["id"], "more")
      assert.deepStrictEqual(conditions(refused), ["resource-constraint", "text"])
      send(iq("ping", "ann@xmpp.test/a", ping))
      const answered = yield* take
      assert.deepStrictEqual([answered.attrs["id"], answered.attrs["type"]], ["ping", "result"])
    }))

  it.live("whose answers are not read gets no more of them, and others are served when there is room again", () =>
    Effect.gen(function*() {
      const said: Array<string> = []
      const logger = Logger.make(({ message }) => void said.push(String(message)))
      const { send, socket, take } = yield* connectScripted().pipe(Effect.provide(Logger.layer([logger])))
      socket.pause()
      const count = 3_000
      const id = "i".repeat(8_000)
      for (let i = 0; i < count; i++) send(iq(`${id}${i}`, `mallory${i}@xmpp.test`, ping))
      const warnings = () => said.filter((line) => line.includes("the server does not read")).length
      yield* Effect.sync(warnings).pipe(
        Effect.repeat({ until: (count) => count > 0, schedule: Schedule.spaced("10 millis") })
      )
      socket.resume()
      yield* Effect.forkChild(
        Effect.forever(Effect.delay(Effect.sync(() => send(iq("ann", "ann@xmpp.test/a", ping))), "50 millis"))
      )
      const answers: Array<string | undefined> = []
      for (let one = yield* take; one.attrs["id"] !== "ann"; one = yield* take) answers.push(conditions(one)?.[0])
      assert.isBelow(answers.length, count)
      assert.include(answers, "resource-constraint") // as long as there is room for that
      assert.isBelow(warnings(), 10) // one for each time that it fell behind
    }))

  it.live("of many addresses is told to wait as well", () =>
    Effect.gen(function*() {
      const { send, take } = yield* holding
      for (let i = 1; i <= 256; i++) send(iq(`held${i}`, `mallory${i}@xmpp.test/a`, list))
      send(iq("more", "ann@xmpp.test/a", list))
      assert.deepStrictEqual(conditions(yield* take), ["resource-constraint", "text"])
    }))

  it.live("that claims to be notifications come back is seen to one by one, up to 1,000 of one address, and delays nobody else's", () =>
    Effect.gen(function*() {
      const seen: Array<string> = []
      const others = yield* Latch.make()
      const gate = yield* Latch.make()
      const { send, take } = yield* connectScripted({
        hub: {
          recordBounce: ({ from, sequence }) =>
            Effect.suspend(() => {
              seen.push(`${from} ${sequence}`)
              return from === "ann@xmpp.test" ? Effect.asVoid(others.open) : gate.await
            })
        }
      })
      const bounce = (from: string, id: string) =>
        `<message type='error' id='${id}' from='${from}' to='push.xmpp.test'/>`
      for (let i = 1; i <= 1_200; i++) send(bounce("mallory@xmpp.test/a", `1-8-${i}`))
      send(bounce("ann@xmpp.test/a", "1-9-1"))
      yield* others.await
      assert.deepStrictEqual(seen, ["mallory@xmpp.test 1", "ann@xmpp.test 1"])
      send(iq("ping", "ann@xmpp.test/a", ping))
      assert.strictEqual((yield* take).attrs["id"], "ping")
      yield* gate.open
      send(bounce("ann@xmpp.test/a", "1-8-2"))
      yield* Effect.sync(() => seen.at(-1)).pipe(
        Effect.repeat({ until: (last) => last === "ann@xmpp.test 2", schedule: Schedule.spaced("5 millis") })
      )
      assert.strictEqual(seen.length, 1_002)
    }))

  it.live("of answers, errors, messages and presences that nobody asked for is passed over", () =>
    Effect.gen(function*() {
      const { send, take } = yield* holding
      for (
        const kind of [
          "iq type='result'",
          "iq type='error'",
          "message",
          "message type='error'",
          "presence",
          "presence type='error'",
          "presence type='subscribed'",
          "presence type='unavailable'"
        ]
      ) {
        send(`<${kind} id='fence-1' from='mallory@xmpp.test' to='push.xmpp.test'/>`)
      }
      send(iq("deep", "mallory@xmpp.test", `${"<a>".repeat(20_000)}${"</a>".repeat(20_000)}`))
      const refused = yield* take
      assert.deepStrictEqual([refused.attrs["id"], refused.attrs["type"]], ["deep", "error"])
      send(iq("ping", "ann@xmpp.test/a", ping))
      assert.strictEqual((yield* take).attrs["id"], "ping")
    }))
})
