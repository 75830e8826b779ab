import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, PlatformError, Stdio, Stream } from "effect"
import { Command } from "effect/cli"
import { TestConsole } from "effect/testing"
import { Fetcher } from "#domain/ports/Fetcher.ts"
import { inspect } from "#main/cli/Inspect.ts"

const run = Command.runWith(inspect, { version: "0" })

/** Why a file cannot be shown. */
const whyNot = (path: string, files: Partial<FileSystem.FileSystem> = {}) =>
  Effect.gen(function*() {
    const real = yield* FileSystem.FileSystem
    const asked = Effect.provideService(run([path]), FileSystem.FileSystem, { ...real, ...files })
    return (yield* Effect.flip(asked)).message
  }).pipe(Effect.provide([Layer.mock(Fetcher, {}), NodeServices.layer]))

/** What `inspect --batch` answers to these lines. */
const answers = (...lines: ReadonlyArray<string>) =>
  Effect.gen(function*() {
    const stdin = Stream.make(new TextEncoder().encode(lines.join("\n")))
    yield* Effect.provideService(run(["--batch"]), Stdio.Stdio, { ...(yield* Stdio.Stdio), stdin })
    return (yield* TestConsole.logLines).map((line) => JSON.parse(String(line)))
  }).pipe(Effect.provide([Layer.mock(Fetcher, {}), NodeServices.layer]))

describe("inspect", () => {
  it.effect("answers each line of a batch, whatever is wrong with one of them", () =>
    Effect.gen(function*() {
      const [noFile, noJson, missing, read] = yield* answers(
        `{"fil":"a"}`,
        "feed.xml",
        "",
        `{"file":"/nope"}`,
        `{"file":"/dev/null"}`
      )
      assert.match(noFile.error, /^Invalid job: received "\{\\"fil\\":\\"a\\"\}" \(.*"file".*\)\. Expected .*\.$/)
      assert.match(noJson.error, /^Invalid job: received "feed.xml" \(.*\)\. Expected .*\.$/)
      assert.deepStrictEqual(Object.keys(missing), ["file", "error"])
      assert.deepStrictEqual(read, { file: "/dev/null", kind: "empty", error: "the document is empty" })
    }))

  it.effect("says in a sentence that there is no such file", () =>
    Effect.gen(function*() {
      const message = yield* whyNot("/nope/feed.xml")
      assert.strictEqual(
        message,
        "There is no file \"/nope/feed.xml\". Give the path of a document, or an http(s) URL."
      )
    }))

  it.effect("says in a sentence that a file may not be read", () =>
    Effect.gen(function*() {
      const denied = PlatformError.systemError({ _tag: "PermissionDenied", module: "FileSystem", method: "readFile" })
      const message = yield* whyNot("feed.xml", { readFile: () => Effect.fail(denied) })
      assert.strictEqual(message, "The file \"feed.xml\" is not readable for this user. Change its permissions.")
    }))

  it.effect("names what is no file at all", () =>
    Effect.gen(function*() {
      const message = yield* whyNot("/")
      assert.strictEqual(
        message,
        "\"/\" is not a file, but probably a directory. Give the path of a document, or an http(s) URL."
      )
    }))
})
