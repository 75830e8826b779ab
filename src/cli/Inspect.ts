import { Effect, FileSystem, Layer, Option, type PlatformError, Schema, Stdio, Stream } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { escapeInJson } from "#domain/ControlCharacters.ts"
import { readFeed, type ReadOptions } from "#domain/normalize/ReadFeed.ts"
import { Fetcher } from "#domain/ports/Fetcher.ts"
import { quote } from "#domain/Topic.ts"
import * as FetcherUndici from "#layers/outbound/FetcherUndici.ts"
import * as Network from "#layers/outbound/Network.ts"
import * as Settings from "#layers/Settings.ts"
import { neutralModel } from "./NeutralModel.ts"
import { print, printError, stopWhenUnread } from "./Output.ts"
import { renderDocument, renderReport } from "./Report.ts"

/** A document could not be loaded. `message` gives the reason. */
export class InspectError extends Schema.TaggedError<InspectError>()("InspectError", { message: Schema.String }) {}

const flags = {
  source: Argument.String("file or url").pipe(
    Argument.withDescription("Path of a file, or an http(s) URL"),
    Argument.optional
  ),
  format: Flag.Literals("format", ["report", "json", "atom", "model"]).pipe(
    Flag.withDescription(
      "report (default): for a person. json, atom: the notification for subscribers. model: all fields"
    ),
    Flag.withDefault("report")
  ),
  batch: Flag.Boolean("batch").pipe(
    Flag.withDescription(
      "Read jobs from standard input, one JSON object per line: {file, url?, headers?}. Print one result per line"
    ),
    Flag.withDefault(false)
  )
}

/** `windhover inspect`: shows how Windhover reads a document, without storing the document. URLs need a `Fetcher`. */
export const inspect = Command.make(
  "inspect",
  flags,
  Effect.fnUntraced(function*({ source, format, batch }) {
    if (batch) yield* stopWhenUnread(runJobs)
    else if (Option.isSome(source)) yield* showDocument(source.value, format)
    else return yield* new InspectError({ message: "Give a file or a URL, or --batch." })
  })
).pipe(Command.withDescription("Show how Windhover reads a feed: kind, encoding, repairs, ids, model, renderings"))

/** `inspect` with the outbound network of the settings. */
export const inspectOnline = inspect.pipe(
  Command.provide(FetcherUndici.layer.pipe(Layer.provide(Network.layer), Layer.provide(Settings.layer)))
)

const showDocument = Effect.fn("Inspect.show")(function*(place: string, format: "report" | "json" | "atom" | "model") {
  const { bytes, options } = /^https?:\/\//i.test(place) ? yield* fetchDocument(place) : yield* loadFile(place)
  const result = readFeed(bytes, options)
  yield* print(format === "report" ? renderReport(result, place) : renderDocument(result, place, format))
})

interface LoadedDocument {
  readonly bytes: Uint8Array
  readonly options: ReadOptions
}

const loadFile = Effect.fnUntraced(function*(path: string) {
  const files = yield* FileSystem.FileSystem
  const bytes = yield* files.readFile(path).pipe(
    Effect.mapError((error) => new InspectError({ message: explainFileError(path, error) }))
  )
  return { bytes, options: {} } satisfies LoadedDocument
})

const explainFileError = (path: string, { message, reason }: PlatformError.PlatformError): string => {
  switch (reason._tag) {
    case "NotFound":
      return `There is no file ${quote(path)}. Give the path of a document, or an http(s) URL.`
    case "PermissionDenied":
      return `The file ${quote(path)} is not readable for this user. Change its permissions.`
    case "BadResource":
      return `${quote(path)} is not a file, but probably a directory. Give the path of a document, or an http(s) URL.`
    default:
      return `Cannot read ${quote(path)}: ${message}. Give the path of a document, or an http(s) URL.`
  }
}

const fetchDocument = Effect.fnUntraced(function*(url: string) {
  const fetcher = yield* Fetcher
  const response = yield* fetcher.fetch({ url }).pipe(Effect.mapError(({ message }) => new InspectError({ message })))
  if (response.status !== 200) yield* printError(`The server answered ${response.status}.`)
  return {
    bytes: response.body,
    options: { ...toReadOptions(response.headers), url: response.finalUrl }
  } satisfies LoadedDocument
})

const toReadOptions = (headers: { readonly [name: string]: string | undefined }): ReadOptions => {
  const {
    "content-type": contentType,
    "content-language": contentLanguage,
    "content-location": contentLocation
  } = headers
  return {
    ...(contentType === undefined ? {} : { contentType }),
    ...(contentLanguage === undefined ? {} : { contentLanguage }),
    ...(contentLocation === undefined ? {} : { contentLocation })
  }
}

const lowerCaseNames = (headers: { readonly [name: string]: string }): { readonly [name: string]: string } =>
  Object.fromEntries(Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value]))

const Job = Schema.Struct({
  file: Schema.String,
  url: Schema.optionalKey(Schema.String),
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String))
})

const decodeJob = Schema.decodeUnknownEffect(Schema.fromJsonString(Job))

/** Prints one result per line, in order. An invalid job or an unreadable file gives a result with an `error`. */
const runJobs = Effect.gen(function*() {
  const { stdin } = yield* Stdio.Stdio
  yield* stdin.pipe(
    Stream.decodeText(),
    Stream.splitLines,
    Stream.filter((line) => line.trim() !== ""),
    Stream.runForEach((line) => Effect.flatMap(runJobLine(line), (text) => print(text)))
  )
})

const runJobLine = (line: string) =>
  decodeJob(line).pipe(
    Effect.flatMap(runJob),
    Effect.catchTag("SchemaError", ({ message }) =>
      Effect.succeed(JSON.stringify({ error: explainInvalidJob(line, message) })))
  )

const explainInvalidJob = (line: string, problem: string): string =>
  `Invalid job: received ${quote(line)} (${
    problem.replaceAll(/\s+/g, " ")
  }). Expected {"file": …, "url"?: …, "headers"?: {…}}.`

const runJob = Effect.fnUntraced(function*({ file, url, headers = {} }: typeof Job.Type) {
  const options = { ...toReadOptions(lowerCaseNames(headers)), ...(url === undefined ? {} : { url }) }
  return yield* loadFile(file).pipe(
    Effect.map(({ bytes }) => escapeInJson(JSON.stringify({ file, ...neutralModel(readFeed(bytes, options), url) }))),
    Effect.catch(({ message }) => Effect.succeed(JSON.stringify({ file, error: message })))
  )
})
