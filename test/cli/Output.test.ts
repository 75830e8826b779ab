import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { once } from "node:events"
import { join } from "node:path"
import { startProgram } from "#test/support/Program.ts"
import { serve } from "#test/support/Servers.ts"
import { patience } from "#test/support/Service.ts"

const bin = join(import.meta.dirname, "../../bin/windhover")

/** Starts a command, and closes its output after the first line. */
const readOnce = Effect.fnUntraced(function*(args: ReadonlyArray<string>, input?: string) {
  const { child, said, until } = yield* startProgram(bin, args)
  let complaints = ""
  child.stderr.on("data", (text: string) => complaints += text)
  child.stdin.on("error", () => {}) // the command ends without reading all input
  if (input !== undefined) child.stdin.write(input)
  yield* until(() => said.length > 0)
  child.stdout.destroy()
  const ended = once(child, "exit")
  return {
    line: said[0],
    child,
    end: Effect.map(Effect.promise(() => ended), ([code]) => ({ code, complaints }))
  }
})

describe("a command whose output is read no longer", () => {
  it.live("of inspect --batch, reads no more jobs, and is content", () =>
    Effect.gen(function*() {
      const job = "{\"file\":\"/dev/null\"}\n"
      const { child, end, line } = yield* readOnce(["inspect", "--batch"], job)
      assert.strictEqual(line, "{\"file\":\"/dev/null\",\"kind\":\"empty\",\"error\":\"the document is empty\"}")
      child.stdin.write(job) // the input stays open
      assert.deepStrictEqual(yield* end, { code: 0, complaints: "" })
    }), patience)

  it.live("of tail, ends its subscription", () =>
    Effect.gen(function*() {
      let tell = () => {}
      const { seen, url } = yield* serve((request, response) => {
        if (request.method === "POST") return void response.writeHead(204).end()
        const event = "event: notification\nid: 1\ndata: {\"status\":{},\"items\":[{\"id\":\"a\"}]}\n\n"
        response.writeHead(200, { "content-type": "text/event-stream" }).write(event)
        tell = () => void response.write(event)
      })
      const { end, line } = yield* readOnce(["tail", "http://a.example/", "--url", url, "--token", "t"])
      assert.strictEqual(line, "a")
      tell()
      assert.deepStrictEqual(yield* end, { code: 0, complaints: "" })
      const asked = seen.filter(({ method }) => method === "POST").map(({ body }) =>
        Object.fromEntries(new URLSearchParams(body.toString()))
      )
      assert.deepStrictEqual(asked.map((one) => one["hub.mode"]), ["subscribe", "unsubscribe"])
      // unique: the account may have subscribed the null device itself
      assert.match(asked[0]?.["hub.callback"] ?? "", /\/dev\/null\?tail=[0-9a-f-]{36}&lease=3600$/)
      assert.strictEqual(asked[1]?.["hub.callback"], asked[0]?.["hub.callback"])
    }), patience)
})
