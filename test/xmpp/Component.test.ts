import { assert, describe, it, vi } from "@effect/vitest"
import xml, { type Element } from "@xmpp/xml"
import { Clock, Deferred, Effect, Exit, Fiber, Logger, Queue, Redacted, References, Schedule, Scope } from "effect"
import { TestClock } from "effect/testing"
import { connect } from "node:net"
import { setImmediate, setTimeout } from "node:timers/promises"
import * as Component from "#xmpp/Component.ts"
import * as ComponentStream from "#xmpp/ComponentStream.ts"
import {
  type ComponentServer,
  componentServer,
  digest,
  pingAnswer,
  type ServerConnection
} from "#test/support/ComponentServer.ts"

const message = (id: string) => `<message to="ann@xmpp.test" from="push.xmpp.test" id="${id}"/>`

/** A component on a scripted server, and its received stanzas. */
const connecting = Effect.gen(function*() {
  const server = yield* componentServer
  return { server, ...yield* connectingTo(server) }
})

const connectingTo = Effect.fnUntraced(function*(
  server: ComponentServer,
  note?: Effect.Effect<void>,
  awaitLease: Effect.Effect<void> = Effect.void
) {
  const heard = yield* Queue.unbounded<Element>()
  const component = yield* Component.make({
    host: "127.0.0.1",
    port: server.port,
    component: "push.xmpp.test",
    domain: "xmpp.test",
    secret: Redacted.make("s3cret"),
    onStanza: (stanza) => void Queue.offerUnsafe(heard, stanza),
    awaitLease,
    ...(note === undefined ? {} : { flush: note })
  })
  const welcome = Effect.gen(function*() {
    const connection = yield* server.accept
    yield* connection.shake
    yield* connection.fence
    return connection
  })
  return { heard, component, welcome }
})

const deliver = (component: Component.Component, id: string, messages = [message(id)]) =>
  Effect.forkChild(component.deliver(id, messages))

/** Ids of messages up to the next ping, which stays unanswered. */
const batch = Effect.fnUntraced(function*(connection: ServerConnection) {
  const ids: Array<string | undefined> = []
  while (true) {
    const stanza = yield* connection.take
    if (stanza.name === "iq") return { ids, fence: stanza.attrs["id"] }
    ids.push(stanza.attrs["id"])
  }
})

const streamError = (condition: string) =>
  `<stream:error><${condition} xmlns='urn:ietf:params:xml:ns:xmpp-streams'/></stream:error></stream:stream>`

describe("Component", () => {
  it.live("shakes hands with the digest of the stream's id and the secret", () =>
    Effect.gen(function*() {
      const { server } = yield* connecting
      const connection = yield* server.accept
      assert.strictEqual(yield* connection.shake, digest("s3cret"))
    }))

  it.live("stores the results of a batch before the batch after the next, so that a crash repeats at most two batches", () =>
    Effect.gen(function*() {
      const notes = yield* Queue.unbounded<Deferred.Deferred<void>>()
      const note = Effect.gen(function*() {
        const noted = yield* Deferred.make<void>()
        yield* Queue.offer(notes, noted)
        yield* Deferred.await(noted)
      })
      const { component, welcome } = yield* connectingTo(yield* componentServer, note)
      const connection = yield* welcome
      const sent = Effect.fnUntraced(function*(id: string) {
        const delivery = yield* deliver(component, id)
        const { fence, ids } = yield* batch(connection)
        assert.deepStrictEqual(ids, [id])
        connection.send(pingAnswer(fence, "xmpp.test"))
        assert.strictEqual(yield* Fiber.join(delivery), "accepted")
      })
      yield* sent("1")
      const first = yield* Queue.take(notes)
      yield* sent("2")
      const third = yield* Effect.forkChild(sent("3"))
      yield* Effect.sleep("50 millis")
      assert.isUndefined(third.pollUnsafe())
      yield* Deferred.succeed(first, undefined)
      yield* Fiber.join(third)
    }))

  it.live("counts a delivery as sent only after an answer of the server itself", () =>
    Effect.gen(function*() {
      const { component, welcome } = yield* connecting
      const connection = yield* welcome
      const delivery = yield* deliver(component, "1")
      const { fence, ids } = yield* batch(connection)
      assert.deepStrictEqual(ids, ["1"])
      connection.send(pingAnswer(fence, "mallory@xmpp.test"))
      connection.send(pingAnswer(fence, "xmpp.test.evil.test"))
      const second = yield* deliver(component, "2") // would be sent if the receipt had been accepted
      yield* Effect.sleep("50 millis")
      assert.strictEqual(delivery.pollUnsafe(), undefined)
      connection.send(pingAnswer(fence, "xmpp.test", "error")) // an error proves that the server has read up to the ping
      assert.strictEqual(yield* Fiber.join(delivery), "accepted")
      assert.deepStrictEqual((yield* batch(connection)).ids, ["2"])
      yield* Fiber.interrupt(second)
    }))

  it.live("sends at most 32 messages at once, and repeats unconfirmed messages in order after a disconnect", () =>
    Effect.gen(function*() {
      const { component, welcome } = yield* connecting
      const first = yield* welcome
      const ids = Array.from({ length: 64 }, (_, i) => String(i))
      const opening = yield* deliver(component, "opening")
      yield* batch(first) // the others wait together until the ping is answered
      const deliveries = yield* Effect.forEach(ids, (id) => deliver(component, id))
      yield* Effect.yieldNow
      first.send(pingAnswer("fence-2"))
      assert.strictEqual(yield* Fiber.join(opening), "accepted")
      assert.deepStrictEqual((yield* batch(first)).ids, ids.slice(0, 32))
      first.close()

      const second = yield* welcome
      for (const id of ids.slice(0, 32)) { // each one alone, because each may have broken the connection
        const { fence, ids } = yield* batch(second)
        assert.deepStrictEqual(ids, [id])
        second.send(pingAnswer(fence))
      }
      const rest = yield* batch(second)
      assert.deepStrictEqual(rest.ids, ids.slice(32))
      second.send(pingAnswer(rest.fence))
      assert.deepStrictEqual([...new Set(yield* Fiber.joinAll(deliveries))], ["accepted"])
    }))

  it.live("sends the next batch before the senders of the last one resume, because they take the time of the thread", () =>
    Effect.gen(function*() {
      const { component, welcome } = yield* connecting
      const connection = yield* welcome
      const order: Array<string> = []
      const first = yield* Effect.forkChild(
        Effect.map(component.deliver("1", [message("1")]), (result) => order.push(`1 ${result}`))
      )
      const { fence } = yield* batch(connection)
      const isHeld = () => order.push("2 sent") > 0
      const second = yield* Effect.forkChild(component.deliver("2", [message("2")], isHeld))
      yield* Effect.yieldNow
      connection.send(pingAnswer(fence, "xmpp.test"))
      yield* Fiber.join(first)
      assert.deepStrictEqual(order, ["2 sent", "1 accepted"])
      assert.deepStrictEqual((yield* batch(connection)).ids, ["2"])
      yield* Fiber.interrupt(second)
    }))

  it.live("sends a delivery of many messages in parts, and repeats only the part without a receipt", () =>
    Effect.gen(function*() {
      const { component, welcome } = yield* connecting
      const first = yield* welcome
      const ids = Array.from({ length: 70 }, (_, i) => String(i))
      const delivery = yield* deliver(component, "many", ids.map(message))
      const [one, two] = [
        yield* batch(first),
        yield* Effect.suspend(() => {
          first.send(pingAnswer("fence-2"))
          return batch(first)
        })
      ]
      assert.deepStrictEqual([one.ids, one.fence, two.ids], [ids.slice(0, 32), "fence-2", ids.slice(32, 64)])
      first.close()

      const second = yield* welcome
      for (const part of [ids.slice(32, 64), ids.slice(64)]) {
        const { fence, ids } = yield* batch(second)
        assert.deepStrictEqual(ids, part)
        second.send(pingAnswer(fence))
      }
      assert.strictEqual(yield* Fiber.join(delivery), "accepted")
    }))

  it.live("resumes an interrupted delivery behind its parts with a receipt, unless its number of messages differs", () =>
    Effect.gen(function*() {
      const { component, welcome } = yield* connecting
      const connection = yield* welcome
      const messages = Array.from({ length: 40 }, (_, i) => message(String(i)))
      const answerBatch = Effect.gen(function*() {
        const { fence, ids } = yield* batch(connection)
        connection.send(pingAnswer(fence))
        return ids.length
      })
      const interrupted = yield* deliver(component, "many", messages)
      assert.strictEqual(yield* answerBatch, 32)
      const { fence, ids } = yield* batch(connection)
      assert.strictEqual(ids.length, 8)
      yield* Fiber.interrupt(interrupted)
      connection.send(pingAnswer(fence))
      const resumed = yield* deliver(component, "many", messages)
      assert.strictEqual(yield* answerBatch, 8)
      assert.strictEqual(yield* Fiber.join(resumed), "accepted")
      const again = yield* deliver(component, "many", messages.slice(1))
      assert.strictEqual(yield* answerBatch, 32)
      assert.strictEqual(yield* answerBatch, 7)
      assert.strictEqual(yield* Fiber.join(again), "accepted")
    }))

  it.live("drops the delivery that closes the stream twice, and sends the others", () =>
    Effect.gen(function*() {
      const { component, welcome } = yield* connecting
      let connection = yield* welcome
      const opening = yield* deliver(component, "opening")
      const { fence } = yield* batch(connection)
      const [good, bad, late] = [
        yield* deliver(component, "good"),
        yield* deliver(component, "bad"),
        yield* deliver(component, "late")
      ]
      yield* Effect.yieldNow
      connection.send(pingAnswer(fence))
      yield* Fiber.join(opening)
      assert.deepStrictEqual((yield* batch(connection)).ids, ["good", "bad", "late"])
      connection.send(streamError("not-well-formed"))

      connection = yield* welcome
      const alone = yield* batch(connection)
      assert.deepStrictEqual(alone.ids, ["good"])
      connection.send(pingAnswer(alone.fence))
      assert.deepStrictEqual((yield* batch(connection)).ids, ["bad"])
      connection.send(streamError("not-well-formed"))
      assert.strictEqual(yield* Fiber.join(bad), "poison")

      connection = yield* welcome
      const last = yield* batch(connection)
      assert.deepStrictEqual(last.ids, ["late"])
      connection.send(pingAnswer(last.fence))
      assert.deepStrictEqual([yield* Fiber.join(good), yield* Fiber.join(late)], ["accepted", "accepted"])
      assert.strictEqual(yield* component.deliver("bad", [message("bad")]), "poison") // and the message is never sent again
    }))

  it.live("sends no character outside XML, and no stanza above the maximum", () =>
    Effect.gen(function*() {
      const { component, welcome } = yield* connecting
      yield* welcome
      assert.strictEqual(yield* component.deliver("1", ["<message>\u0001</message>"]), "poison")
      assert.strictEqual(yield* component.deliver("2", ["<message>\ud800</message>"]), "poison")
      assert.strictEqual(yield* component.deliver("3", [`<message>${"a".repeat(256 * 1024)}</message>`]), "poison")
    }))

  it.live("removes the delivery of an ended subscription", () =>
    Effect.gen(function*() {
      const { component, welcome } = yield* connecting
      const connection = yield* welcome
      const opening = yield* deliver(component, "opening")
      const { fence } = yield* batch(connection)
      const gone = yield* deliver(component, "gone")
      const next = yield* deliver(component, "next")
      yield* Effect.yieldNow
      yield* Fiber.interrupt(gone)
      connection.send(pingAnswer(fence))
      yield* Fiber.join(opening)
      assert.deepStrictEqual((yield* batch(connection)).ids, ["next"])
      yield* Fiber.interrupt(next)
    }))

  /** A second passes; then sockets have a moment to connect, read and write. */
  const passSecond = Effect.andThen(TestClock.adjust("1 second"), Effect.promise(() => setTimeout(5)))

  /** The next connection, after any wait of the component. */
  const inTime = (server: ComponentServer) => Effect.raceFirst(server.accept, Effect.forever(passSecond))

  /** True when the component makes no connection before the test's own one. */
  const isAlone = Effect.fnUntraced(function*(server: ComponentServer) {
    const mine = connect(server.port, "127.0.0.1")
    const { socket } = yield* server.accept
    const alone = socket.remotePort === mine.localPort
    mine.destroy()
    return alone
  })

  const closing = ({ socket }: ServerConnection) =>
    Effect.callback<void>((resume) => void socket.once("close", () => resume(Effect.void)))

  it.effect("gives a server 10 s to shake hands, and tries again", () =>
    Effect.gen(function*() {
      const { server } = yield* connecting
      const mute = yield* server.accept
      const closed = yield* Effect.forkChild(closing(mute))
      yield* TestClock.adjust("9 seconds")
      assert.isTrue(yield* isAlone(server))
      assert.isUndefined(closed.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closed)
      yield* (yield* inTime(server)).shake
    }))

  it.effect("gives a server 30 s to answer a ping, and repeats unconfirmed messages", () =>
    Effect.gen(function*() {
      const { component, server, welcome } = yield* connecting
      const stuck = yield* welcome
      const delivery = yield* deliver(component, "1")
      assert.deepStrictEqual((yield* batch(stuck)).ids, ["1"])
      const closed = yield* Effect.forkChild(closing(stuck))
      yield* TestClock.adjust("29 seconds")
      assert.isTrue(yield* isAlone(server))
      assert.isUndefined(closed.pollUnsafe())
      yield* TestClock.adjust("1 second")
      yield* Fiber.join(closed)
      const next = yield* inTime(server)
      yield* next.shake
      yield* next.fence
      const { fence, ids } = yield* batch(next)
      assert.deepStrictEqual(ids, ["1"])
      next.send(pingAnswer(fence))
      assert.strictEqual(yield* Fiber.join(delivery), "accepted")
    }))

  /** Answers the handshake of a connection with a stream error, and returns when the component has closed the connection. */
  const refuse = Effect.fnUntraced(function*(connection: ServerConnection, condition: string) {
    yield* connection.shake
    const closed = yield* Effect.forkChild(closing(connection))
    connection.send(streamError(condition))
    yield* Fiber.join(closed)
  })

  /** A server that refuses all connections, the lines of the log, and the time of a number of refusals. */
  const refusing = Effect.fnUntraced(function*(condition: string) {
    const { component, server } = yield* connecting
    const refused = Effect.fnUntraced(function*(count: number) {
      for (let i = 0; i < count; i++) yield* refuse(yield* inTime(server), condition)
      return yield* Clock.currentTimeMillis
    })
    return { component, server, refused }
  })

  const collectLog = () => {
    const said: Array<string> = []
    return {
      said,
      layer: Logger.layer([
        Logger.make(({ fiber, logLevel, message }) => {
          const fields = JSON.stringify(fiber.getRef(References.CurrentLogAnnotations))
          said.push(`${logLevel} ${String(message)} ${fields}`)
        })
      ])
    }
  }

  it.effect("lets deliveries wait in the outbox while there is no server", () =>
    Effect.gen(function*() {
      const { component, refused } = yield* refusing("not-authorized")
      const delivery = yield* deliver(component, "1")
      yield* refused(5)
      assert.strictEqual(yield* Fiber.join(delivery), "unavailable")
    }))

  it.effect("logs a wrong secret, retries it ten times within a minute and a half, and then once a minute", () => {
    const { layer, said } = collectLog()
    const alarms = () =>
      said.filter((line) =>
        line.startsWith("Error") && line.includes("WINDHOVER_XMPP_SECRET is not the secret that the server has for it")
      ).length
    return Effect.gen(function*() {
      const { refused, server } = yield* refusing("not-authorized")
      assert.isAtMost(yield* refused(4), 10_000) // a secret that is corrected at once
      assert.isAtMost(yield* refused(6), 90_000)
      assert.strictEqual(alarms(), 1)
      const before = yield* refused(1)
      yield* TestClock.adjust("47 seconds")
      assert.isTrue(yield* isAlone(server))
      assert.isAtMost((yield* refused(1)) - before, 80_000)
      assert.strictEqual(alarms(), 3)
      assert.notInclude(said.join(), "s3cret")
    }).pipe(Effect.provide(layer))
  })

  it.effect("retries a wrong secret soon, however long the server was away before", () =>
    Effect.gen(function*() {
      const { server } = yield* connecting
      for (let i = 0; i < 12; i++) (yield* inTime(server)).close()
      const last = yield* inTime(server)
      const before = yield* Clock.currentTimeMillis
      yield* refuse(last, "not-authorized")
      yield* (yield* inTime(server)).shake
      assert.isAtMost((yield* Clock.currentTimeMillis) - before, 2_000)
    }))

  it.effect("retries a conflict within 12 s for as long as it lasts, and logs it about once a minute", () => {
    const { layer, said } = collectLog()
    const alarms = () => said.filter((line) => line.startsWith("Error") && line.includes("a second Windhover")).length
    return Effect.gen(function*() {
      const { refused } = yield* refusing("conflict")
      assert.isAtMost(yield* refused(2), 10_000)
      assert.strictEqual(alarms(), 0)
      let before = yield* refused(1)
      assert.strictEqual(alarms(), 1)
      for (let i = 0; i < 12; i++) {
        const now = yield* refused(1)
        assert.isAtMost(now - before, 14_000)
        before = now
      }
      assert.strictEqual(alarms(), 3)
    }).pipe(Effect.provide(layer))
  })

  it.effect("keeps a notification whose receipt a proxy delays and resets, and sends the others", () =>
    Effect.gen(function*() {
      const { component, server } = yield* connecting
      let isProxyBroken = true
      const good: Array<string | undefined> = []
      /** Reads batches for ever; a broken proxy resets each connection on which the large message travels. */
      const serve = Effect.gen(function*() {
        const connection = yield* inTime(server)
        yield* connection.shake
        yield* connection.fence
        while (true) {
          const { fence, ids } = yield* batch(connection)
          if (isProxyBroken && ids.includes("large")) {
            yield* TestClock.adjust("20 seconds")
            return connection.close()
          }
          good.push(...ids)
          connection.send(pingAnswer(fence))
        }
      })
      yield* Effect.forkChild(Effect.forever(serve))
      /** Retries every 15 s, as a subscription does. */
      const send = (id: string) =>
        component.deliver(id, [message(id)]).pipe(
          Effect.repeat({
            until: (result) => result !== "unavailable",
            schedule: Schedule.spaced("15 seconds")
          }),
          Effect.forkChild
        )
      const large = yield* send("large")
      const others = yield* Effect.forEach(["a", "b", "c"], send)
      const passTime = (until: () => boolean) => Effect.repeat(passSecond, { until })
      yield* passTime(() => others.every((one) => one.pollUnsafe() !== undefined))
      assert.deepStrictEqual(yield* Fiber.joinAll(others), ["accepted", "accepted", "accepted"])
      const end = (yield* Clock.currentTimeMillis) + 600_000
      yield* Effect.repeat(Effect.andThen(passSecond, Clock.currentTimeMillis), { until: (now) => now > end })
      assert.isUndefined(large.pollUnsafe())
      isProxyBroken = false
      yield* passTime(() => large.pollUnsafe() !== undefined)
      assert.strictEqual(yield* Fiber.join(large), "accepted")
      assert.deepStrictEqual(good.toSorted(), ["a", "b", "c", "large"])
    }))

  it.live("drops no notification for an error that may be about a reply, or that names no stanza", () =>
    Effect.gen(function*() {
      const { component, welcome } = yield* connecting
      const delivery = yield* deliver(component, "good")
      for (const condition of ["not-well-formed", "undefined-condition"]) {
        const connection = yield* welcome
        assert.deepStrictEqual((yield* batch(connection)).ids, ["good"])
        if (condition === "not-well-formed") component.reply("<iq id='from a stranger'/>")
        connection.send(streamError(condition))
      }
      assert.strictEqual(yield* Fiber.join(delivery), "unavailable")
    }))

  it.effect("sends no further batch while the results of two batches cannot be stored, and pings the server", () =>
    Effect.gen(function*() {
      const stored = yield* Deferred.make<void>()
      const server = yield* componentServer
      const { component, welcome } = yield* connectingTo(server, Deferred.await(stored))
      let connection = yield* welcome
      const sendNext = Effect.fnUntraced(function*(id: string) {
        const delivery = yield* deliver(component, id)
        const { fence, ids } = yield* batch(connection)
        connection.send(pingAnswer(fence))
        assert.strictEqual(yield* Fiber.join(delivery), "accepted")
        return ids
      })
      assert.deepStrictEqual(yield* sendNext("1"), ["1"])
      assert.deepStrictEqual(yield* sendNext("2"), ["2"])
      const third = yield* deliver(component, "3")
      /** Batches until the time has passed: all are pings alone. */
      const ping = Effect.gen(function*() {
        const next = yield* Effect.forkChild(batch(connection))
        while (next.pollUnsafe() === undefined) yield* passSecond
        const { fence, ids } = yield* Fiber.join(next)
        connection.send(pingAnswer(fence))
        return ids
      })
      assert.deepStrictEqual([yield* ping, yield* ping], [[], []])
      const closed = yield* Effect.forkChild(closing(connection))
      connection.close() // a new connection changes nothing
      yield* Fiber.join(closed)
      connection = yield* inTime(server)
      yield* connection.shake
      yield* connection.fence
      assert.deepStrictEqual(yield* ping, [])
      yield* Deferred.succeed(stored, undefined)
      assert.deepStrictEqual((yield* batch(connection)).ids, ["3"])
      yield* Fiber.interrupt(third)
    }))

  it.effect("connects only while the lease is held", () =>
    Effect.gen(function*() {
      const held = yield* Deferred.make<void>()
      const server = yield* componentServer
      yield* connectingTo(server, Effect.void, Deferred.await(held))
      yield* TestClock.adjust("1 minute")
      assert.isTrue(yield* isAlone(server))
      yield* Deferred.succeed(held, undefined)
      yield* (yield* inTime(server)).shake
    }))

  it.effect("reports the time without an answer of the server, also before the end of the connection is noticed", () =>
    Effect.gen(function*() {
      const { component, server, welcome } = yield* connecting
      const cutOff = Effect.map(Clock.currentTimeMillis, component.cutOffMs)
      yield* TestClock.adjust("1 second")
      assert.strictEqual(yield* cutOff, 1_000)
      const stuck = yield* welcome
      const delivery = yield* deliver(component, "1")
      yield* batch(stuck)
      assert.strictEqual(yield* cutOff, 0)
      const closed = yield* Effect.forkChild(closing(stuck))
      yield* TestClock.adjust("30 seconds")
      yield* Fiber.join(closed)
      assert.strictEqual(yield* cutOff, 30_000)
      yield* refuse(yield* inTime(server), "conflict") // the server answers
      assert.strictEqual(yield* cutOff, 0)
      yield* Fiber.interrupt(delivery)
    }))

  it.live("holds back all but one batch while a server does not read", () =>
    Effect.gen(function*() {
      const { component, welcome } = yield* connecting
      const connection = yield* welcome
      connection.socket.pause()
      const large = (id: string) => `${message(id).slice(0, -2)}>${"x".repeat(200_000)}</message>`
      const deliveries = yield* Effect.forEach(
        Array.from({ length: 100 }, (_, i) => String(i)),
        (id) => deliver(component, id, [large(id)])
      )
      yield* Effect.promise(setImmediate)
      assert.isAtMost(component.unreadBytes(), 1024 * 1024 + 1_000)
      assert.isTrue(deliveries.every((one) => one.pollUnsafe() === undefined))
      yield* Effect.forEach(deliveries, Fiber.interrupt)
    }))

  it.live("counts the answers that a server does not read apart from deliveries", () =>
    Effect.gen(function*() {
      const server = yield* componentServer
      const opening = yield* Effect.forkChild(ComponentStream.open({
        host: "127.0.0.1",
        port: server.port,
        component: "push.xmpp.test",
        domain: "xmpp.test",
        secret: Redacted.make("s3cret")
      }, () => {}))
      const connection = yield* server.accept
      yield* connection.shake
      const stream = yield* Fiber.join(opening)
      connection.socket.pause()
      for (let i = 0; i < 100; i++) stream.write(`${message(String(i)).slice(0, -2)}>${"x".repeat(200_000)}</message>`)
      assert.isAbove(stream.unreadBytes(), 1024 * 1024)
      assert.strictEqual(stream.unreadReplyBytes(), 0)
      stream.writeReply("<iq id='é'/>")
      assert.strictEqual(stream.unreadReplyBytes(), 13)
      connection.socket.resume()
      while ((yield* connection.take).attrs["id"] !== "é");
      assert.strictEqual(stream.unreadReplyBytes(), 0)
    }))

  it.live("reads characters that are spread over reads", () =>
    Effect.gen(function*() {
      const { heard, welcome } = yield* connecting
      const connection = yield* welcome
      for (const byte of Buffer.from("<message id='é€😀' from='ann@xmpp.test' to='push.xmpp.test'/>")) {
        connection.send(Buffer.from([byte]))
        yield* Effect.yieldNow
      }
      assert.strictEqual((yield* Queue.take(heard)).attrs["id"], "é€😀")
    }))

  it.live("reads the largest stanza of escaped quotes, in pieces that end between texts", () =>
    Effect.gen(function*() {
      const write = vi.spyOn(xml.Parser.prototype, "write")
      yield* Effect.addFinalizer(() => Effect.sync(() => write.mockRestore()))
      const { heard, welcome } = yield* connecting
      const connection = yield* welcome
      const count = 512 * 1024
      connection.send(`<message><body>${"&quot;".repeat(count)}</body></message>`)
      assert.strictEqual((yield* Queue.take(heard)).getChildText("body")?.length, count)
      const written = write.mock.calls.map(([text]) => String(text)).filter((text) => text.includes("&quot;"))
      assert.deepStrictEqual(written.map((text) => [text.length, text.at(-1)]), [[6 * count + 1, "<"]])
    }))

  it.live.each(
    [
      ["an entity that nobody knows", "<message><body>&nbsp;</body></message>"],
      ["a document type", "<!DOCTYPE x>"],
      ["an entity that is declared", "<!DOCTYPE x [<!ENTITY e \"f\">]><message><body>&e;</body></message>"],
      ["an instruction in a stanza", "<message><?php it's ?></message>"],
      ["a comment in a stanza", "<message><!-- it's --></message>"],
      ["a wrong end", "<message></iq>"],
      ["a second end", "</stream:stream></stream:stream>"],
      ["no XML at all", "HTTP/1.1 400 Bad Request\r\n\r\n</x></y>"]
    ] as const
  )("connects again after %s", ([, text]) =>
    Effect.gen(function*() {
      const { component, welcome } = yield* connecting
      const first = yield* welcome
      first.send(text)
      const second = yield* welcome
      const delivery = yield* deliver(component, "1")
      const { fence, ids } = yield* batch(second)
      assert.deepStrictEqual(ids, ["1"])
      second.send(pingAnswer(fence))
      assert.strictEqual(yield* Fiber.join(delivery), "accepted")
    }))

  it.live("pads a long tag, so that a waiting server sees its end", () =>
    Effect.gen(function*() {
      const { component, welcome } = yield* connecting
      const connection = yield* welcome
      const opening = yield* deliver(component, "opening")
      yield* batch(connection)
      const { socket } = connection
      const read: Array<string> = []
      const all = yield* Deferred.make<string>()
      const last = "<iq id='last'/>"
      socket.on("data", (data: Buffer | string) => {
        read.push(String(data))
        if (read.join("").includes(last)) Deferred.doneUnsafe(all, Effect.succeed(read.join("")))
      })
      const [short, long] = [`<iq id='${"s".repeat(400)}'/>`, `<iq id='${"l".repeat(20_000)}'>text</iq>`]
      for (const answer of [short, long, last]) component.reply(answer)
      assert.deepStrictEqual((yield* Deferred.await(all)).split(/(?<=>)(?= )|(?<= )(?=<iq)/).map((one) => one.length), [
        short.length + long.length,
        20_010,
        last.length
      ])
      yield* Fiber.interrupt(opening)
    }))

  it.live("reads any CDATA section", () =>
    Effect.gen(function*() {
      const { heard, welcome } = yield* connecting
      const connection = yield* welcome
      connection.send("<message><body><![CDATA[it's <b> & ]] > ]]></body></message>")
      assert.strictEqual((yield* Queue.take(heard)).getChildText("body"), "it's <b> & ]] > ")
    }))

  it.live("passes on requests and answers of others, also with the id of its ping", () =>
    Effect.gen(function*() {
      const { heard, welcome } = yield* connecting
      const connection = yield* welcome
      connection.send(
        "<iq type='get' id='fence-1' from='xmpp.test' to='push.xmpp.test'><ping xmlns='urn:xmpp:ping'/></iq>"
      )
      const stanza = yield* Queue.take(heard)
      assert.deepStrictEqual([stanza.attrs["id"], stanza.attrs["type"]], ["fence-1", "get"])
    }))

  it.live("ends all waiting deliveries as unavailable when its scope ends", () =>
    Effect.gen(function*() {
      const server = yield* componentServer
      const scope = yield* Scope.make()
      const { component, welcome } = yield* Scope.provide(connectingTo(server), scope)
      const connection = yield* welcome
      const underWay = yield* deliver(component, "under way")
      yield* batch(connection)
      const waiting = yield* deliver(component, "waiting")
      yield* Effect.yieldNow
      yield* Scope.close(scope, Exit.void)
      assert.deepStrictEqual(yield* Fiber.joinAll([underWay, waiting]), ["unavailable", "unavailable"])
      assert.strictEqual(yield* component.deliver("late", [message("late")]), "unavailable")
    }))

  it.live("disconnects when its scope ends", () =>
    Effect.gen(function*() {
      const server = yield* componentServer
      const closed = yield* Deferred.make<void>()
      yield* Effect.scoped(Effect.gen(function*() {
        const { welcome } = yield* connectingTo(server)
        const { socket } = yield* welcome
        socket.once("end", () => Deferred.doneUnsafe(closed, Effect.void))
      }))
      yield* Deferred.await(closed)
    }))
})
