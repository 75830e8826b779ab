import { Config, Effect, FileSystem, Option, Path, Schema } from "effect"
import { createHash, randomInt, randomUUID } from "node:crypto"
import { homedir } from "node:os"

/** Position of `windhover forward` in a topic. */
const ForwardState = Schema.Struct({
  /** Number in the ids of the notifications, in place of the subscription's. */
  subscription: Schema.Int,
  /** Query of the null device's address, by which a restart finds its subscription again. */
  device: Schema.String,
  /** Id of the last forwarded event; absent before the first one. */
  position: Schema.optionalKey(Schema.String)
})
export type ForwardState = typeof ForwardState.Type

const StoredState = Schema.fromJsonString(ForwardState)

/** Unusable state file. */
export class ForwardStateError
  extends Schema.TaggedError<ForwardStateError>()("ForwardStateError", { message: Schema.String }) {}

/** Reads and writes the state of one service, login, topic and target. */
export interface ForwardStateFile {
  readonly load: Effect.Effect<ForwardState, ForwardStateError>
  readonly save: (state: ForwardState) => Effect.Effect<void, ForwardStateError>
}

/** Directory for the state of programs, by the XDG Base Directory Specification, which ignores a relative path. */
const stateHome = Config.String("XDG_STATE_HOME").pipe(
  Config.option,
  Effect.map(Option.filter((directory) => directory.startsWith("/"))),
  Effect.map(Option.getOrElse(() => `${homedir()}/.local/state`))
)

/** The state file for the given names. A file is written at once or not at all. */
export const openForwardState = Effect.fnUntraced(function*(names: ReadonlyArray<string>) {
  const files = yield* FileSystem.FileSystem
  const paths = yield* Path.Path
  const directory = paths.join(yield* Effect.orDie(stateHome), "windhover", "forward")
  const name = createHash("sha256").update(JSON.stringify(names)).digest("hex").slice(0, 32)
  const file = paths.join(directory, `${name}.json`)

  const load = Effect.gen(function*() {
    const text = yield* files.readFileString(file).pipe(
      Effect.asSome,
      Effect.catchIf(({ reason }) => reason._tag === "NotFound", () => Effect.succeedNone),
      Effect.mapError((error) => new ForwardStateError({ message: `${file} cannot be read: ${error.message}` }))
    )
    if (Option.isNone(text)) return makeState()
    return yield* Schema.decodeEffect(StoredState)(text.value).pipe(
      Effect.mapError(() =>
        new ForwardStateError({
          message: `${file} is damaged. Remove it; the command then starts with new notifications.`
        })
      )
    )
  })

  const save = (state: ForwardState) =>
    Effect.gen(function*() {
      const temporary = `${file}.${randomUUID()}.tmp`
      yield* files.makeDirectory(directory, { recursive: true, mode: 0o700 })
      yield* files.writeFileString(temporary, yield* Schema.encodeEffect(StoredState)(state), { mode: 0o600 })
      yield* files.rename(temporary, file)
    }).pipe(
      Effect.mapError((error) =>
        new ForwardStateError({
          message: `${file} cannot be written: ${error.message}. XDG_STATE_HOME names another place.`
        })
      )
    )

  const stateFile: ForwardStateFile = { load, save }
  return stateFile
})

const makeState = (): ForwardState => ({ subscription: randomInt(1, 2 ** 31), device: randomUUID() })
