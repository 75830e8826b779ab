/** The floor: undici alone, with xxh64 of the body; prints CPU seconds and wall seconds for `count` requests. */
import { Agent, request } from "undici"
import { ofBytes } from "#domain/Fingerprint.ts"

const [, , url = "", countText = "0", method = "GET", etag = ""] = process.argv
const count = Number(countText)
const dispatcher = new Agent({ connections: 32 })
const body = method === "POST" ? Buffer.alloc(2_500, "x") : null
let left = count

const worker = async (): Promise<void> => {
  while (left-- > 0) {
    const answer = await request(url, {
      dispatcher,
      method: method === "POST" ? "POST" : "GET",
      body,
      headers: etag === "" ? {} : { "if-none-match": etag }
    })
    ofBytes(new Uint8Array(await answer.body.arrayBuffer()))
  }
}

const cpu = process.cpuUsage()
const start = performance.now()
await Promise.all(Array.from({ length: 32 }, worker))
const used = process.cpuUsage(cpu)
process.stdout.write(JSON.stringify({ cpu: (used.user + used.system) / 1e6, wall: (performance.now() - start) / 1e3 }))
await dispatcher.close()
