import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { writeFileSync } from "node:fs"
import { mkdtemp, rm } from "node:fs/promises"
import { tmpdir } from "node:os"
import { join } from "node:path"
import type { NetworkError } from "#layers/outbound/NetworkError.ts"
import * as DnsResolver from "#layers/outbound/DnsResolver.ts"
import { nameServer, type Zone } from "#test/support/NameServer.ts"

const only = (addresses: ReadonlyArray<string>, ttl: number): Zone => (type) =>
  type === "A" ? { addresses, ttl } : { addresses: [], ttl }

const failure = (promise: Promise<unknown>): Effect.Effect<NetworkError> =>
  Effect.promise(() => promise.then(() => Promise.reject(new Error("it resolved")), (error: NetworkError) => error))

/** A resolver against a name server of the test, with a clock that the test moves. */
const resolverOf = Effect.fnUntraced(function*(zone: Zone, options: DnsResolver.DnsResolverOptions = {}) {
  const server = yield* nameServer(zone)
  const clock = { now: 1_000_000 }
  const resolver = DnsResolver.make({
    nameServers: [server.address],
    hostsFile: "/nonexistent",
    answerTimeoutMs: 60_000, // tests of timeouts set their own
    now: () => clock.now,
    ...options
  })
  yield* Effect.addFinalizer(() => Effect.sync(resolver.close))
  const addresses = (host: string) =>
    Effect.promise(() => resolver.resolve(host).then((found) => found.map(({ address }) => address)))
  const countAddressQueries = () => server.queries.filter((question) => question.startsWith("A ")).length
  return { addresses, countAddressQueries, clock, resolver, server }
})

describe("DnsResolver", () => {
  it.effect("queries the name servers and caches the response for its TTL", () =>
    Effect.gen(function*() {
      const { addresses, countAddressQueries, clock } = yield* resolverOf(only(["192.0.2.7", "192.0.2.8"], 100))
      assert.deepStrictEqual(yield* addresses("feeds.example"), ["192.0.2.7", "192.0.2.8"])
      clock.now += 99_000
      assert.deepStrictEqual(yield* addresses("feeds.example."), ["192.0.2.7", "192.0.2.8"])
      assert.strictEqual(countAddressQueries(), 1)
      clock.now += 1_000
      yield* addresses("feeds.example")
      assert.strictEqual(countAddressQueries(), 2)
    }))

  it.effect("clamps the TTL", () =>
    Effect.gen(function*() {
      const short = yield* resolverOf(only(["192.0.2.7"], 0), { minTtlMs: 10_000 })
      yield* short.addresses("a.example")
      short.clock.now += 9_999
      yield* short.addresses("a.example")
      assert.strictEqual(short.countAddressQueries(), 1)
      const long = yield* resolverOf(only(["192.0.2.7"], 1_000_000), { maxTtlMs: 3_600_000 })
      yield* long.addresses("a.example")
      long.clock.now += 3_600_000
      yield* long.addresses("a.example")
      assert.strictEqual(long.countAddressQueries(), 2)
    }))

  it.effect("sends one query for concurrent callers", () =>
    Effect.gen(function*() {
      const { addresses, countAddressQueries } = yield* resolverOf(only(["192.0.2.7"], 100))
      const answers = yield* Effect.all(Array.from({ length: 20 }, () => addresses("a.example")), {
        concurrency: "unbounded"
      })
      assert.deepStrictEqual(answers, Array.from({ length: 20 }, () => ["192.0.2.7"]))
      assert.strictEqual(countAddressQueries(), 1)
    }))

  it.effect("caches a missing name for a minute", () =>
    Effect.gen(function*() {
      const { countAddressQueries, clock, resolver } = yield* resolverOf(() => ({ code: "NXDOMAIN" }))
      const first = yield* failure(resolver.resolve("gone.example"))
      assert.deepStrictEqual([first.reason._tag, first.message], [
        "Dns",
        "gone.example: there is no such name in the DNS"
      ])
      clock.now += 59_000
      yield* failure(resolver.resolve("gone.example"))
      assert.strictEqual(countAddressQueries(), 1)
      clock.now += 1_000
      yield* failure(resolver.resolve("gone.example"))
      assert.strictEqual(countAddressQueries(), 2)
    }))

  it.effect("explains that a name has no address", () =>
    Effect.gen(function*() {
      const { resolver } = yield* resolverOf(only([], 10))
      assert.strictEqual(
        (yield* failure(resolver.resolve("mail.example"))).message,
        "mail.example: the name has no address"
      )
    }))

  it.effect("serves the last response for a day while the name servers fail", () =>
    Effect.gen(function*() {
      let works = true
      const { addresses, clock, resolver } = yield* resolverOf((type) =>
        works ? { addresses: type === "A" ? ["192.0.2.7"] : [], ttl: 10 } : { code: "SERVFAIL" }
      )
      yield* addresses("a.example")
      works = false
      clock.now += 3_600_000
      assert.deepStrictEqual(yield* addresses("a.example"), ["192.0.2.7"])
      clock.now += 24 * 3_600_000
      const error = yield* failure(resolver.resolve("a.example"))
      assert.strictEqual(error.message, "a.example: the name servers failed (SERVFAIL)")
    }))

  it.effect("fails when the name servers do not respond", () =>
    Effect.gen(function*() {
      const { resolver } = yield* resolverOf(() => undefined, { answerTimeoutMs: 30 })
      const error = yield* failure(resolver.resolve("slow.example"))
      assert.deepStrictEqual([error.reason._tag, error.reason.text], ["Dns", "the name servers did not answer in time"])
    }))

  it.effect("caches a bounded number of names", () =>
    Effect.gen(function*() {
      const { addresses, countAddressQueries } = yield* resolverOf(only(["192.0.2.7"], 1000), { maxNames: 3 })
      for (const name of ["a", "b", "c", "d"]) yield* addresses(`${name}.example`)
      yield* addresses("d.example")
      assert.strictEqual(countAddressQueries(), 4)
      yield* addresses("a.example")
      assert.strictEqual(countAddressQueries(), 5)
    }))

  it.effect("returns at most eight addresses of a name", () =>
    Effect.gen(function*() {
      const { addresses } = yield* resolverOf(only(Array.from({ length: 20 }, (_, i) => `192.0.2.${i}`), 10))
      assert.strictEqual((yield* addresses("many.example")).length, 8)
    }))

  it.effect("resolves localhost without the name servers", () =>
    Effect.gen(function*() {
      const { addresses, server } = yield* resolverOf(only(["192.0.2.66"], 100))
      assert.deepStrictEqual(yield* addresses("localhost"), ["127.0.0.1", "::1"])
      assert.deepStrictEqual(yield* addresses("app.localhost"), ["127.0.0.1", "::1"])
      assert.deepStrictEqual(server.queries, [])
    }))

  it.effect("reads the hosts file again after a change", () =>
    Effect.gen(function*() {
      const directory = yield* Effect.acquireRelease(
        Effect.promise(() => mkdtemp(join(tmpdir(), "hosts-"))),
        (path) => Effect.promise(() => rm(path, { recursive: true }))
      )
      const hostsFile = join(directory, "hosts")
      const { addresses, clock, server } = yield* resolverOf(only(["192.0.2.66"], 100), { hostsFile })
      assert.deepStrictEqual(yield* addresses("box"), ["192.0.2.66"])
      writeFileSync(hostsFile, "::2 box\n192.0.2.5\tBox other # mine\n")
      clock.now += 5_000
      assert.deepStrictEqual(yield* addresses("box"), ["192.0.2.5", "::2"])
      assert.deepStrictEqual(yield* addresses("other"), ["192.0.2.5"])
      assert.isFalse(server.queries.includes("A other"))
    }))

  it("reads hosts files leniently", () => {
    const names = DnsResolver.parseHostsFile("# comment\n\n 127.0.0.1  a\tb\nnonsense c\n999.1.1.1 d\n::1 a#b\r\n")
    assert.deepStrictEqual([...names.keys()], ["a", "b"])
    assert.deepStrictEqual(names.get("a"), [{ address: "127.0.0.1", family: 4 }, { address: "::1", family: 6 }])
  })
})
