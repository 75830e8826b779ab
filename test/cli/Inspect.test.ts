import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Effect, FileSystem, Layer, PlatformError } from "effect"
import { Command } from "effect/cli"
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

describe("inspect", () => {
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
      assert.strictEqual(message, "The file \"feed.xml\" may not be read by who runs this. Change its permissions.")
    }))

  it.effect("names what is no file at all", () =>
    Effect.gen(function*() {
      const message = yield* whyNot("/")
      assert.match(message, /^Cannot read "\/": .*\. Give the path of a document, or an http\(s\) URL\.$/)
    }))
})
