import { Schema } from "effect"
import { reasonOf } from "#domain/ports/Reason.ts"

/**
 * A backup cannot be written, read or restored. The message tells the operator the problem, its place and the remedy.
 *
 * * `Unusable` – the file cannot be created, read or written
 * * `Exists` – the file to write exists already
 * * `Foreign` – the file is no backup of Windhover
 * * `Newer` – a newer Windhover has written the file
 * * `Damaged` – a checksum, a length or a count does not fit
 * * `NotEmpty` – the target of a restore or move has a database
 * * `Running` – a service uses the data directory
 * * `Full` – the disk has no room
 * * `Changed` – the source of a copy changed in a way that spoils the copy
 */
export class BackupError extends Schema.TaggedError<BackupError>()("BackupError", {
  reason: reasonOf(["Unusable", "Exists", "Foreign", "Newer", "Damaged", "NotEmpty", "Running", "Full", "Changed"]),
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message(): string {
    return this.reason.message
  }
}

export const backupError = (
  tag: BackupError["reason"]["_tag"],
  message: string,
  ...[cause]: [cause?: unknown]
): BackupError => new BackupError({ reason: { _tag: tag, message }, ...(cause === undefined ? {} : { cause }) })

/** The error for an operator, from an error of the file system. */
export const explainFile = (file: string, cause: unknown): BackupError => {
  const text = (cause instanceof Error ? cause.message : String(cause)).replace(/^Error: /, "")
  return /ENOSPC|EDQUOT|No space left/.test(text)
    ? backupError(
      "Full",
      `There is no space left for ${file} (${text}). Make room, or name a file on another disk.`,
      cause
    )
    : backupError("Unusable", `The file ${file} cannot be used (${text}).`, cause)
}
