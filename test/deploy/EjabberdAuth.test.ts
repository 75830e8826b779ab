import { assert, describe, it } from "@effect/vitest"
import { Effect, type Scope } from "effect"
import { spawn } from "node:child_process"
import { writeFileSync } from "node:fs"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { awaitCondition } from "#test/support/AwaitCondition.ts"
import { temporaryDirectory } from "#test/support/Databases.ts"

const root = join(import.meta.dirname, "../..")

type Asked = Pick<http.IncomingMessage, "method" | "headers">

/** Stands for Windhover: accepts ann's password, and answers other logins with the status in their password. */
const windhover = Effect.gen(function*() {
  const asked: Array<Asked> = []
  const port = yield* Effect.map(
    Effect.acquireRelease(
      Effect.callback<http.Server>((resume) => {
        const server = http.createServer(({ headers, method }, response) => {
          asked.push({ method, headers })
          const password = Buffer.from((headers.authorization ?? "").slice(6), "base64").toString().replace(
            /^[^:]*:/,
            ""
          )
          if (password === "silence") return
          response.writeHead(password === "wönder:land" ? 204 : Number(password) || 401, { location: "/elsewhere" })
            .end()
        }).listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) =>
        Effect.sync(() => {
          server.close()
          server.closeAllConnections()
        })
    ),
    (server) => (server.address() as AddressInfo).port
  )
  return { asked, url: `http://127.0.0.1:${port}/internal/xmpp/auth` }
})

interface Program {
  readonly write: (bytes: Uint8Array) => void
  /** All bytes of the next answer. */
  readonly answer: Effect.Effect<string>
  /** Closes the input and returns the exit code. */
  readonly end: Effect.Effect<number | null>
  /** Waits for a text on standard error. */
  readonly complains: (of: string) => Effect.Effect<void>
  readonly complaints: () => string
}

const program = (...args: ReadonlyArray<string>): Effect.Effect<Program, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => spawn(join(root, "bin/node"), [join(root, "deploy/ejabberd/auth.ts"), ...args])),
      (child) => Effect.sync(() => child.kill("SIGKILL"))
    ),
    (child) => {
      let said = Buffer.alloc(0)
      let complained = ""
      const waiting = new Set<() => void>()
      const until = awaitCondition(waiting)
      const lookAgain = () => {
        for (const look of waiting) look()
      }
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        complained += text
        lookAgain()
      })
      child.stdout.on("data", (bytes: Buffer) => {
        said = Buffer.concat([said, bytes])
        lookAgain()
      })
      return {
        write: (bytes) => void child.stdin.write(bytes),
        answer: Effect.andThen(
          until(() => said.length >= 4),
          Effect.sync(() => {
            const answer = said.toString("hex", 0, 4)
            said = said.subarray(4)
            return answer
          })
        ),
        complains: (of) => until(() => complained.includes(of)),
        end: Effect.callback((resume) => {
          child.once("close", (code) => resume(Effect.succeed(code)))
          child.stdin.end()
        }),
        complaints: () => complained
      }
    }
  )

const yes = "00020001"
const no = "00020000"

const framed = (text: string): Buffer => {
  const body = Buffer.from(text)
  const length = Buffer.alloc(2)
  length.writeUInt16BE(body.length)
  return Buffer.concat([length, body])
}

describe("the program for ejabberd", () => {
  it.live("asks Windhover about a login, with a password of any characters", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* windhover
      const { answer, end, write } = yield* program(url)
      write(framed("auth:ann:münchen.test:wönder:land"))
      assert.strictEqual(yield* answer, yes)
      const [{ headers, method } = assert.fail()] = asked
      assert.deepStrictEqual(
        [method, headers["authorization"], headers["x-xmpp-domain"], headers["x-internal-secret"]],
        ["POST", `Basic ${Buffer.from("ann:wönder:land").toString("base64")}`, "xn--mnchen-3ya.test", undefined]
      )
      write(framed("auth:ann:xmpp.test:wrong"))
      assert.strictEqual(yield* answer, no)
      write(framed("auth:ann:xmpp.test:403"))
      assert.strictEqual(yield* answer, no)
      assert.strictEqual(yield* end, 0)
    }))

  it.live("says that there are accounts, and changes none; neither is a question for Windhover", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* windhover
      const { answer, write } = yield* program(url)
      write(framed("isuser:ann:xmpp.test"))
      assert.strictEqual(yield* answer, yes)
      for (const verb of ["setpass", "tryregister", "removeuser", "removeuser3"]) {
        write(framed(`${verb}:ann:xmpp.test:wonder`))
        assert.strictEqual(yield* answer, no, verb)
      }
      assert.strictEqual(asked.length, 0)
    }))

  it.live("takes questions in pieces, and several at once, in order", () =>
    Effect.gen(function*() {
      const { url } = yield* windhover
      const { answer, write } = yield* program(url)
      const right = framed("auth:ann:xmpp.test:wönder:land")
      for (const byte of right) write(Buffer.from([byte]))
      assert.strictEqual(yield* answer, yes)
      write(Buffer.concat([right, framed("auth:ann:xmpp.test:wrong"), right, right.subarray(0, 7)]))
      assert.deepStrictEqual([yield* answer, yield* answer, yield* answer], [yes, no, yes])
      write(right.subarray(7))
      assert.strictEqual(yield* answer, yes)
    }))

  it.live("refuses what is no question, and goes on", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* windhover
      const { answer, write } = yield* program(url)
      for (
        const text of [
          "",
          ":",
          "auth",
          "auth:ann",
          "auth:ann:xmpp.test",
          "auth::xmpp.test:x",
          "\u0000",
          "x".repeat(65_535)
        ]
      ) {
        write(framed(text))
        assert.strictEqual(yield* answer, no, text.slice(0, 20))
      }
      assert.strictEqual(asked.length, 0)
      write(framed("auth:ann:xmpp.test:wönder:land"))
      assert.strictEqual(yield* answer, yes)
    }))

  it.live("ends with its input, in the middle of a question as well", () =>
    Effect.gen(function*() {
      const { url } = yield* windhover
      const { end, write } = yield* program(url)
      write(Buffer.from([255, 255, 97]))
      assert.strictEqual(yield* end, 0)
    }))

  it.live("lets nobody in while Windhover is away or in trouble, follows it nowhere, and says so without the password", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* windhover
      const { answer, complains, write } = yield* program(url)
      for (const status of ["503", "302", "200"]) {
        write(framed(`auth:ann:xmpp.test:${status}`))
        assert.strictEqual(yield* answer, no)
        yield* complains(`answered ${status}; the login of ann cannot be checked`)
      }
      assert.strictEqual(asked.length, 3)
      const lost = yield* program("http://127.0.0.1:1/internal/xmpp/auth")
      lost.write(framed("auth:ann:xmpp.test:s3cret"))
      assert.strictEqual(yield* lost.answer, no)
      yield* lost.complains("does not answer")
      assert.notInclude(lost.complaints(), "s3cret")
    }))

  it.live("gives up after 8 s, before ejabberd does", () =>
    Effect.gen(function*() {
      const { url } = yield* windhover
      const { answer, complains, write } = yield* program(url)
      write(framed("auth:ann:xmpp.test:silence"))
      assert.strictEqual(yield* answer, no)
      yield* complains("does not answer (TimeoutError")
    }))

  it.live("shows the secret of a file", () =>
    Effect.gen(function*() {
      const { asked, url } = yield* windhover
      const file = join(yield* temporaryDirectory, "secret")
      writeFileSync(file, "sixteen characters\n")
      const { answer, write } = yield* program(url, file)
      write(framed("auth:ann:xmpp.test:wönder:land"))
      assert.strictEqual(yield* answer, yes)
      assert.strictEqual(asked[0]?.headers["x-internal-secret"], "sixteen characters")
    }))
})
