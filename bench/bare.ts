/**
 * Lower bound of a poll: undici's `dispatch` alone, with xxh64 of the body. Prints CPU seconds and wall seconds for `count` requests.
 *
 * Without a `rate`, each request follows the answer to the one before, at the lowest possible cost. With a rate, requests leave in small
 * bursts, like a poller's: connections become idle, and the process sleeps.
 *
 * A quarter as many requests warm up the code, because uncompiled code would raise the lower bound.
 */
import { setTimeout as sleep } from "node:timers/promises"
import { Agent, type Dispatcher } from "undici"
import { hashBytes } from "#domain/Fingerprint.ts"

const [, , address = "", countText = "0", method = "GET", etag = "", rate = ""] = process.argv
const count = Number(countText)
const { origin, pathname } = new URL(address)
const agent = new Agent({ connections: 32 })
const body = method === "POST" ? Buffer.alloc(2_500, "x") : null
const headers = etag === "" ? {} : { "if-none-match": etag }

const ask = () =>
  new Promise<void>((resolve, reject) => {
    const chunks: Array<Buffer> = []
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart: () => undefined,
      onResponseStart: () => undefined,
      onResponseData: (_controller, chunk) => void chunks.push(chunk),
      onResponseEnd: () => {
        hashBytes(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks))
        resolve()
      },
      onResponseError: (_controller, error) => reject(error)
    }
    agent.dispatch({ origin, path: pathname, method: method === "POST" ? "POST" : "GET", headers, body }, handler)
  })

const busy = async (requests: number): Promise<void> => {
  let left = requests
  const worker = async (): Promise<void> => {
    while (left-- > 0) await ask()
  }
  await Promise.all(Array.from({ length: 32 }, worker))
}

/** Interval of the bursts, in ms. */
const spacing = 20

const paced = async (requests: number): Promise<void> => {
  const answers: Array<Promise<void>> = []
  for (const began = performance.now(); answers.length < requests; await sleep(spacing)) {
    const due = Math.min(requests, (performance.now() - began) / 1000 * Number(rate))
    while (answers.length < due) answers.push(ask())
  }
  await Promise.all(answers)
}

const run = rate === "" ? busy : paced
await run(Math.ceil(count / 4))
const cpu = process.cpuUsage()
const start = performance.now()
await run(count)
const used = process.cpuUsage(cpu)
process.stdout.write(JSON.stringify({ cpu: (used.user + used.system) / 1e6, wall: (performance.now() - start) / 1e3 }))
await agent.close()
