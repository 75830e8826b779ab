import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { execFileSync } from "node:child_process"
import { existsSync, readFileSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import { pathToFileURL } from "node:url"
import { Deliverer } from "#domain/ports/Deliverer.ts"
import * as DelivererHttp from "#layers/outbound/DelivererHttp.ts"
import * as Network from "#layers/outbound/Network.ts"
import { freePort } from "#scripts/FreePort.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"
import { startProgram } from "#test/support/Program.ts"

const page = readFileSync(join(import.meta.dirname, "../../docs/webhooks.md"), "utf8")

/** Code blocks of the page in one language, in order. */
const blocks = (language: string): ReadonlyArray<string> =>
  [...page.matchAll(new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, "gs"))].map(([, text = ""]) => text)

/** The page's failure notification, and its signature header. */
const body = /^\{"status":\{"code":500.*$/m.exec(page)?.[0] ?? ""
const signature = /X-Hub-Signature-256: (sha256=ef\w+)/.exec(page)?.[1] ?? ""
const secret = "a-secret"

const python = "/usr/bin/python3"

const deliverer = DelivererHttp.layer.pipe(
  Layer.provide(Network.layerWith({ allowPrivate: true, baseUrl: "http://windhover.test" }))
)

describe("docs/webhooks.md", () => {
  it.live("checks a signature in Node", () =>
    Effect.gen(function*() {
      const file = join(yield* temporaryDirectory, "signature.mjs")
      writeFileSync(file, blocks("js")[0] ?? "")
      const { isSigned } = yield* Effect.promise(() => import(pathToFileURL(file).href))
      const headers = { "x-hub-signature-256": signature }
      assert.isTrue(isSigned(body, headers, secret))
      assert.isFalse(isSigned(`${body} `, headers, secret))
      assert.isFalse(isSigned(body, headers, "another secret"))
      assert.isFalse(isSigned(body, { "x-hub-signature": "md5=00" }, secret))
      assert.isFalse(isSigned(body, {}, secret))
    }))

  it.skipIf(!existsSync(python))("checks a signature in Python", () => {
    const program = `${blocks("python")[0]}
import json, sys
body, signature, secret = json.load(sys.stdin)
body, headers = body.encode(), {"X-Hub-Signature-256": signature}
print([is_signed(body, headers, secret), is_signed(body + b" ", headers, secret), is_signed(body, {}, secret)])`
    const output = execFileSync(python, ["-c", program], { input: JSON.stringify([body, signature, secret]) })
    assert.strictEqual(output.toString().trim(), "[True, False, False]")
  })

  it.live("has a receiver that drops duplicates, reports gaps and rejects other secrets", () =>
    Effect.gen(function*() {
      const file = join(yield* temporaryDirectory, "receiver.mjs")
      writeFileSync(file, blocks("js")[1] ?? "")
      const port = yield* Effect.promise(freePort)
      const receiver = yield* startProgram("env", [`SECRET=${secret}`, `PORT=${port}`, process.execPath, file])
      yield* receiver.until(() => receiver.said.includes("ready"))
      const post = (sequence: number, signedWith = secret) =>
        Deliverer.use((deliverer) =>
          deliverer.post({
            id: `${100 + sequence}-7`,
            callback: `http://127.0.0.1:${port}/`,
            contentType: "text/plain",
            body: Buffer.from(`number ${sequence}`),
            secret: signedWith,
            headers: [
              ["X-PubSubHubbub-Topic", "the topic"],
              ["X-Windhover-Notification-Id", `${100 + sequence}-7`],
              ["X-Windhover-Sequence", String(sequence)]
            ]
          })
        )
      const statuses = []
      for (const sequence of [4, 5, 5, 9, 10]) statuses.push((yield* post(sequence)).status)
      statuses.push((yield* post(11, "another secret")).status)
      assert.deepStrictEqual(statuses, [204, 204, 204, 204, 204, 403])
      const one = "the topic: text/plain, 8 bytes"
      assert.deepStrictEqual(receiver.said, [
        "ready",
        one,
        one,
        "the topic: 3 notifications missed",
        one,
        "the topic: text/plain, 9 bytes"
      ])
    }).pipe(Effect.provide(deliverer)))
})
