import { afterAll, assert, describe, it } from "@effect/vitest"
import { Effect, Schedule } from "effect"
import { spawn } from "node:child_process"
import { once } from "node:events"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import * as https from "node:https"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { unpackDebianPackages } from "#scripts/DebianPackages.ts"
import { available } from "#test/support/Available.ts"
import { selfSigned } from "#test/support/Certificates.ts"
import { httpServer } from "#test/support/HttpServer.ts"
import { freePort } from "#test/support/Service.ts"

const deploy = join(import.meta.dirname, "../../deploy/proxy")
const work = mkdtempSync(join(tmpdir(), "windhover-proxies-"))
afterAll(() => rmSync(work, { recursive: true, force: true }))

const programs = join(work, "programs")
const hasPrograms = await available(
  "nginx and Caddy (apt-get update)",
  unpackDebianPackages(programs, ["nginx", "caddy"])
)

const mebibytes = (count: number) => "x".repeat(count * 1024 * 1024)

/** In place of Windhover: a stream that never ends, and a page that repeats the headers of the proxy and the length of the body. */
const upstream = httpServer(async (request, response) => {
  if (request.url === "/stream") {
    return void response.writeHead(200, { "content-type": "text/event-stream" }).write(": beat\n\n")
  }
  let length = 0
  for await (const chunk of request) length += (chunk as Buffer).length
  const { host, "x-forwarded-for": client } = request.headers
  response.end(JSON.stringify({ host, client, length, url: request.url }))
})

interface Answer {
  readonly status: number | undefined
  /** The first bytes, before the end of the response. */
  readonly beginning: string
}

/** Sends a request with a forged address of the client, and reads the first bytes of the answer. */
const tryCall = (url: string, body = "") =>
  Effect.tryPromise(async (): Promise<Answer> => {
    const headers = { host: "push.example.org", "x-forwarded-for": "192.0.2.1" }
    const http = url.startsWith("https:") ? https : await import("node:http")
    const request = http.request(url, { method: body === "" ? "GET" : "POST", headers, rejectUnauthorized: false })
    request.end(body)
    const [response] = await once(request, "response")
    const [chunk] = response.statusCode === 200 ? await once(response, "data") : [""]
    request.destroy()
    return { status: response.statusCode, beginning: String(chunk) }
  })

const call = (url: string, body = "") => Effect.orDie(tryCall(url, body))

/** Starts a proxy, killed with the scope, and returns when the port accepts requests. */
const startProxy = (program: string, args: ReadonlyArray<string>, url: string) =>
  Effect.gen(function*() {
    yield* Effect.acquireRelease(
      Effect.sync(() =>
        spawn(join(programs, program), args, { stdio: "ignore", env: { PATH: process.env["PATH"], HOME: work } })
      ),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    )
    yield* tryCall(`${url}/`).pipe(
      Effect.retry({ schedule: Schedule.spaced("50 millis"), times: 1200 })
    )
  })

const checkProxy = (url: string) =>
  Effect.gen(function*() {
    for (const [path, size] of [["/?hub.mode=list", 8], ["/api/import?null=true", 64]] as const) {
      const { beginning } = yield* call(url + path, mebibytes(size))
      assert.deepStrictEqual(JSON.parse(beginning), {
        host: "push.example.org",
        client: "127.0.0.1",
        length: size * 1024 * 1024,
        url: path
      })
    }
    assert.deepStrictEqual(yield* call(`${url}/stream`), { status: 200, beginning: ": beat\n\n" })
    const hidden = yield* Effect.forEach(["/internal/xmpp/auth", "/metrics"], (path) => call(`${url}${path}`))
    assert.deepStrictEqual(hidden.map(({ status }) => status), [404, 404])
  })

describe.skipIf(!hasPrograms)(
  "the configuration of a proxy passes streams at once, and the address of the client",
  () => {
    it.live("nginx", () =>
      Effect.gen(function*() {
        const port = yield* freePort
        const { cert, key } = selfSigned(["push.example.org"])
        writeFileSync(join(work, "cert.pem"), cert)
        writeFileSync(join(work, "key.pem"), key)
        const site = readFileSync(join(deploy, "nginx.conf"), "utf8")
          .replace("127.0.0.1:8080", (yield* upstream).replace("http://", ""))
          .replace(/^.*listen \[::\].*$/m, "")
          .replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`)
          .replace(/\/etc\/letsencrypt\S+fullchain\.pem/, join(work, "cert.pem"))
          .replace(/\/etc\/letsencrypt\S+privkey\.pem/, join(work, "key.pem"))
        writeFileSync(join(work, "site.conf"), site)
        const places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map((name) =>
          `${name}_temp_path ${work}/${name};`
        )
        const user = process.getuid?.() === 0 ? "user root;" : ""
        const main = `${user} daemon off; master_process off; pid ${work}/nginx.pid; events {}
        http { access_log off; ${places.join(" ")} include ${work}/site.conf; }`
        writeFileSync(join(work, "nginx.conf"), main)
        const url = `https://127.0.0.1:${port}`
        yield* startProxy("usr/sbin/nginx", ["-e", join(work, "error.log"), "-c", join(work, "nginx.conf")], url)
        yield* checkProxy(url)
        for (const [path, size] of [["/?hub.mode=list", 10], ["/api/import", 66], ["/api/import/", 10]] as const) {
          assert.strictEqual((yield* call(url + path, mebibytes(size))).status, 413, path)
        }
      }))

    it.live("Caddy", () =>
      Effect.gen(function*() {
        const port = yield* freePort
        const site = readFileSync(join(deploy, "Caddyfile"), "utf8")
          .replace("127.0.0.1:8080", (yield* upstream).replace("http://", ""))
          .replace("push.example.org {", `{\n\tadmin off\n}\nhttp://push.example.org:${port} {`)
        writeFileSync(join(work, "Caddyfile"), site)
        const url = `http://127.0.0.1:${port}`
        yield* startProxy("usr/bin/caddy", ["run", "--adapter", "caddyfile", "--config", join(work, "Caddyfile")], url)
        yield* checkProxy(url)
      }))
  }
)
