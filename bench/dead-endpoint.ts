/**
 * `bin/node bench/dead-endpoint.ts [notifications]`: cost of a dead callback with 100,000 waiting notifications, as ratios to a service
 * without them in the same run: start, memory, and the time from a push to the delivery of another subscription.
 */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import { createHmac } from "node:crypto"
import { once } from "node:events"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { mkdtempSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import * as EmbeddedPostgres from "#layers/postgres/EmbeddedPostgres.ts"
import { migrate } from "#layers/sql/Migrations.ts"
import { measureProcess } from "./ProcessUsage.ts"
import { type Service, start, stopOrigin } from "./Service.ts"

const waiting = Number(process.argv[2] ?? 100_000)
const pushes = 300
const secret = "a-publisher-of-the-bench"

let arrived = () => {}
const receiver = createServer((request, response) => {
  if (request.method === "GET") return void response.end(document(0))
  request.resume().on("end", () => {
    response.end()
    arrived()
  })
}).listen(0, "127.0.0.1")
await once(receiver, "listening")
const outside = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`

const document = (i: number) =>
  `<rss version="2.0"><channel><title>A feed</title><item><guid isPermaLink="false">n${i}</guid><title>${i}</title></item></channel></rss>`

/** A database whose only subscription has a dead callback, with waiting notifications. Its first delivery has failed for a day. */
const fill = (directory: string, waiting: number) =>
  Effect.runPromise(
    Effect.gen(function*() {
      const sql = yield* SqlClient.SqlClient
      yield* migrate
      yield* sql`insert into resources (key, url, host, partition, kind, created_at)
        values ('\\x00', 'http://dead.example/', 'dead.example', 7, 1, now())`
      yield* sql`insert into schedule (resource_id, next_fetch, period, partition) values (1, now() + interval '1 day', 900, 7)`
      yield* sql`insert into resource_state (resource_id) values (1)`
      yield* sql`insert into subscriptions (account_id, resource_id, topic, channel, endpoint, host, face, state, created_at,
          next_sequence, failing_since)
        values (0, 1, 'http://dead.example/', 0, 'http://127.0.0.1:9/', '127.0.0.1', 0, 1, now(), ${waiting + 1}::int,
          now() - interval '1 day')`
      yield* sql`insert into notifications (resource_id, kind, status, created_at, sequence)
        select 1, 2, '{}', now(), i from generate_series(1, ${waiting}::int) i`
      yield* sql`insert into deliveries (notification_id, subscription_id, sequence, partition, credits, due_at, created_at, attempt)
        select i, 1, i, 7, 0, case i when 1 then now() + interval '6 hours' else now() - interval '1 day' end, now(),
          case i when 1 then 10 else 0 end from generate_series(1, ${waiting}::int) i`
      yield* sql.unsafe("vacuum (analyze)").unprepared
    }).pipe(Effect.provide(EmbeddedPostgres.layer({ directory })))
  )

/** Median and 99th percentile of the times from a push to its delivery, in ms. */
const measureLatency = async ({ call }: Service) => {
  const topic = `${outside}/feed`
  await call({ "hub.mode": "subscribe", "hub.topic": topic, "hub.callback": `${outside}/hook`, retrieve: "true" })
  const times: Array<number> = []
  for (let i = 1; i <= pushes; i++) {
    const content = document(i)
    const delivered = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const began = performance.now()
    await call({
      "hub.mode": "publish",
      "hub.url": topic,
      "hub.content": content,
      "hub.signature": `sha256=${createHmac("sha256", secret).update(content).digest("hex")}`
    })
    await delivered
    times.push(performance.now() - began)
  }
  const sorted = times.slice(pushes / 3).toSorted((a, b) => a - b)
  return { median: sorted[sorted.length >> 1] ?? 0, worst: sorted[Math.floor(sorted.length * 0.99)] ?? 0 }
}

const measure = async (isFilled: boolean) => {
  const directory = mkdtempSync(join(tmpdir(), "windhover-bench-"))
  await fill(directory, isFilled ? waiting : 0)
  const service = await start(3_600, directory, { WINDHOVER_PUBLISHERS: `${outside}/feed ${secret}` })
  const latency = await measureLatency(service)
  await sleep(15_000) // three looks for stalled deliveries
  const { rss } = measureProcess(service.pid)
  await service.stop()
  return { ready: service.ready, ...latency, rss }
}

type Figures = Awaited<ReturnType<typeof measure>>

/** In turns, so that the load of the machine meets both. */
const results: { readonly [kind in "without" | "with"]: Array<Figures> } = { without: [], with: [] }
for (let round = 0; round < 2; round++) {
  results.without.push(await measure(false))
  results.with.push(await measure(true))
}

const mean = (figures: ReadonlyArray<Figures>, key: keyof Figures) =>
  figures.reduce((sum, one) => sum + one[key], 0) / figures.length

const names: { readonly [key in keyof Figures]: string } = {
  ready: "start, s",
  median: "push to delivery, median ms",
  worst: "push to delivery, 99 % ms",
  rss: "memory, MB"
}
for (const key of ["ready", "median", "worst", "rss"] as const) {
  const [without, filled] = [mean(results.without, key), mean(results.with, key)]
  process.stdout.write(
    `${names[key].padEnd(30)} ${without.toFixed(2)} without, ${filled.toFixed(2)} with, ratio ${
      (filled / without).toFixed(2)
    }\n`
  )
}
receiver.close()
receiver.closeAllConnections()
stopOrigin()
