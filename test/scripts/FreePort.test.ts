import { assert, it } from "@effect/vitest"
import { once } from "node:events"
import { createServer } from "node:net"
import { freePort } from "#scripts/FreePort.ts"

it("gives each port once, passes over one that is taken, and leaves those to the system that it gives itself", async () => {
  const first = await freePort()
  const taken = createServer().listen(first + 1, "127.0.0.1")
  await once(taken, "listening")
  const more = [await freePort(), await freePort()]
  taken.close()
  assert.deepStrictEqual(more, [first + 2, first + 3])
  for (const port of [first, ...more]) assert.isTrue(port >= 20_000 && port < 32_000)
})
