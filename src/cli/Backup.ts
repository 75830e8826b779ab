import { Effect, Redacted } from "effect"
import { Argument, Command } from "effect/cli"
import { Settings } from "#domain/ports/Settings.ts"
import * as BackupReader from "#layers/backup/BackupReader.ts"
import type { Header } from "#layers/backup/BackupFormat.ts"
import * as BackupWriter from "#layers/backup/BackupWriter.ts"
import { dump } from "#layers/backup/Dump.ts"
import * as Restore from "#layers/backup/Restore.ts"
import * as Source from "#layers/backup/Source.ts"
import * as KeyFile from "#layers/postgres/KeyFile.ts"
import * as SettingsLayer from "#layers/Settings.ts"
import { idOf } from "#layers/sql/SecretBox.ts"
import { printError } from "./Output.ts"
import { makeRowProgress } from "./RowProgress.ts"

const place = Settings.useSync(({ databaseUrl, dataDir }): Source.Place =>
  databaseUrl === undefined ? { _tag: "Embedded", dataDir } : { _tag: "Server", url: databaseUrl }
)

const count = (value: number) => value.toLocaleString("en")

const rowsOf = ({ tables }: Header) => tables.reduce((sum, { rows }) => sum + rows, 0)

const megabytes = (bytes: number) => `${(bytes / 1e6).toFixed(1)} MB`

/** `windhover backup FILE` */
export const backup = Command.make(
  "backup",
  {
    file: Argument.String("FILE").pipe(Argument.withDescription("New file of the backup, or - for standard output"))
  },
  Effect.fnUntraced(function*({ file }) {
    const { dataDir } = yield* Settings
    const writer = yield* BackupWriter.open(file)
    const progress = makeRowProgress("rows written")
    const header = yield* dump(writer, progress.report).pipe(Effect.provide(Source.layer(yield* place)))
    const bytes = yield* writer.end
    progress.clear()
    yield* printError(
      `${file === "-" ? "The backup" : file} holds ${count(rowsOf(header))} rows in ${megabytes(bytes)}.`
    )
    if (header.keys.length > 0) {
      yield* printError(
        `Its secrets are encrypted with the key ${header.keys.join(", ")}. Keep WINDHOVER_ENCRYPTION_KEY, or ${
          KeyFile.pathIn(dataDir)
        }, in another place.`
      )
    }
  }, Effect.scoped)
).pipe(
  Command.withDescription("Write a backup of the database to a new file, while the service runs or is stopped"),
  Command.provide(SettingsLayer.layer)
)

/** `windhover verify FILE` */
export const verify = Command.make(
  "verify",
  { file: Argument.String("FILE").pipe(Argument.withDescription("File of a backup")) },
  Effect.fnUntraced(function*({ file }) {
    const header = yield* BackupReader.verify(file)
    yield* printError(
      `${file} is whole: ${
        count(rowsOf(header))
      } rows of schema ${header.schema}, written on ${header.createdAt} by Windhover ${header.windhover}.`
    )
  })
).pipe(Command.withDescription("Check each byte of a backup"))

/** `windhover restore FILE` */
export const restore = Command.make(
  "restore",
  { file: Argument.String("FILE").pipe(Argument.withDescription("File of a backup")) },
  Effect.fnUntraced(function*({ file }) {
    const { databaseUrl, dataDir } = yield* Settings
    const progress = makeRowProgress("rows restored")
    const header = yield* Restore.restore(file, yield* place, progress.report)
    progress.clear()
    yield* printError(
      `Restored ${count(rowsOf(header))} rows of ${header.createdAt} ${
        databaseUrl === undefined ? `into ${dataDir}` : "into the database at WINDHOVER_DATABASE_URL"
      }.`
    )
    yield* warnOfMissingKeys(header)
  }, Effect.scoped)
).pipe(
  Command.withDescription("Restore a backup into an empty data directory, or an empty database of a server"),
  Command.provide(SettingsLayer.layer)
)

/** The service does not start without the keys, so that the operator hears of them now. */
const warnOfMissingKeys = Effect.fnUntraced(function*({ keys }: Header) {
  const { dataDir, encryptionKeys } = yield* Settings
  const stored = yield* KeyFile.read(dataDir)
  const known = [...encryptionKeys.map(Redacted.value), ...stored === undefined ? [] : [stored]].map((key) =>
    idOf(key).toString("hex")
  )
  const missing = keys.filter((key) => !known.includes(key))
  if (missing.length === 0) return
  yield* printError(
    `The secrets are encrypted with the key ${
      missing.join(", ")
    }, which is not here. Before the start, copy the key file of the old data directory to ${
      KeyFile.pathIn(dataDir)
    }, or set WINDHOVER_ENCRYPTION_KEY. If the key is lost, run 'windhover forget-keys'.`
  )
})
