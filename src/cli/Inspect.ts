import { Console, Effect, FileSystem, Layer, Option, type PlatformError, Schema, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { readFeed, type ReadOptions } from "#domain/normalize/ReadFeed.ts"
import { Fetcher } from "#domain/ports/Fetcher.ts"
import { quote } from "#domain/Topic.ts"
import * as FetcherUndici from "#layers/outbound/FetcherUndici.ts"
import * as Settings from "#layers/Settings.ts"
import { neutralModel } from "./NeutralModel.ts"
import { stopWhenUnread } from "./Output.ts"
import { renderDocument, renderReport } from "./Report.ts"

/** The document could not be had; `message` says why. */
export class InspectError extends Schema.TaggedError<InspectError>()("InspectError", { message: Schema.String }) {}

const flags = {
  source: Argument.String("file or url").pipe(
    Argument.withDescription("What to read: a file's path, or an http(s) URL"),
    Argument.optional
  ),
  format: Flag.Literals("format", ["report", "json", "atom", "model"]).pipe(
    Flag.withDescription(
      "report (default): for a person. json, atom: what subscribers would get. model: all that was read"
    ),
    Flag.withDefault("report")
  ),
  batch: Flag.Boolean("batch").pipe(
    Flag.withDescription(
      "Read jobs from standard input, one JSON object a line: {file, url?, headers?}; answer one a line"
    ),
    Flag.withDefault(false)
  )
}

/** `windhover inspect`: shows how a document is read. Nothing is stored. Documents come by the given `Fetcher`. */
export const inspect = Command.make(
  "inspect",
  flags,
  Effect.fnUntraced(function*({ source, format, batch }) {
    if (batch) yield* stopWhenUnread(answerJobs)
    else if (Option.isSome(source)) yield* show(source.value, format)
    else return yield* new InspectError({ message: "Give a file or a URL, or --batch." })
  })
).pipe(Command.withDescription("Show how a feed is read: kind, encoding, repairs, ids, model, renderings"))

/** Over the network that the settings allow. */
export const inspectOnline = inspect.pipe(
  Command.provide(FetcherUndici.layer.pipe(Layer.provide(Settings.layer)))
)

const show = Effect.fn("Inspect.show")(function*(place: string, format: "report" | "json" | "atom" | "model") {
  const { bytes, options } = /^https?:\/\//i.test(place) ? yield* fetched(place) : yield* stored(place)
  const result = readFeed(bytes, options)
  yield* Console.log(format === "report" ? renderReport(result, place) : renderDocument(result, place, format))
})

interface Document {
  readonly bytes: Uint8Array
  readonly options: ReadOptions
}

const stored = Effect.fnUntraced(function*(path: string) {
  const files = yield* FileSystem.FileSystem
  const bytes = yield* files.readFile(path).pipe(
    Effect.mapError((error) => new InspectError({ message: unread(path, error) }))
  )
  return { bytes, options: {} } satisfies Document
})

const unread = (path: string, { message, reason }: PlatformError.PlatformError): string => {
  switch (reason._tag) {
    case "NotFound":
      return `There is no file ${quote(path)}. Give the path of a document, or an http(s) URL.`
    case "PermissionDenied":
      return `The file ${quote(path)} may not be read by who runs this. Change its permissions.`
    case "BadResource":
      return `${quote(path)} is no file, but a directory most likely. Give the path of a document, or an http(s) URL.`
    default:
      return `Cannot read ${quote(path)}: ${message}. Give the path of a document, or an http(s) URL.`
  }
}

const fetched = Effect.fnUntraced(function*(url: string) {
  const fetcher = yield* Fetcher
  const answer = yield* fetcher.fetch({ url }).pipe(Effect.mapError(({ message }) => new InspectError({ message })))
  if (answer.status !== 200) yield* Console.error(`The server answers ${answer.status}.`)
  return {
    bytes: answer.body,
    options: { ...headerOptions(answer.headers), url: answer.finalUrl }
  } satisfies Document
})

const headerOptions = (headers: { readonly [name: string]: string | undefined }): ReadOptions => {
  const { "content-type": contentType, "content-language": contentLanguage } = headers
  return {
    ...(contentType === undefined ? {} : { contentType }),
    ...(contentLanguage === undefined ? {} : { contentLanguage })
  }
}

const lowerCased = (headers: { readonly [name: string]: string }): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const Job = Schema.Struct({
  file: Schema.String,
  url: Schema.optionalKey(Schema.String),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})

const decodeJob = Schema.decodeUnknownEffect(Schema.fromJsonString(Job))

/** One answer a line, in order; what is no job, and a file that cannot be read, is an answer with an `error`. */
const answerJobs = Effect.gen(function*() {
  const { stdin } = yield* Stdio.Stdio
  yield* stdin.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.filter((line) => line.trim() !== ""),
    Stream.runForEach((line) => Effect.flatMap(answer(line), (text) => Console.log(text)))
  )
})

const answer = (line: string) =>
  decodeJob(line).pipe(
    Effect.flatMap(answerJob),
    Effect.catchTag("SchemaError", ({ message }) => Effect.succeed(JSON.stringify({ error: noJob(line, message) })))
  )

const noJob = (line: string, problem: string): string =>
  `This is no job: received ${quote(line)} (${
    problem.replaceAll(/\s+/g, " ")
  }). {"file": …, "url"?: …, "headers"?: {…}} is needed.`

const answerJob = Effect.fnUntraced(function*({ file, url, headers = {} }: typeof Job.Type) {
  const options = { ...headerOptions(lowerCased(headers)), ...(url === undefined ? {} : { url }) }
  return yield* stored(file).pipe(
    Effect.map(({ bytes }) => JSON.stringify({ file, ...neutralModel(readFeed(bytes, options), url) })),
    Effect.catch(({ message }) => Effect.succeed(JSON.stringify({ file, error: message })))
  )
})
