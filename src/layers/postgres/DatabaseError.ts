import { Schema } from "effect"
import { reasonOf } from "#domain/ports/Reason.ts"

/**
 * Windhover cannot start on this database. The message tells the operator the problem, its place and the remedy.
 *
 * * `Locked` – another process holds the data directory
 * * `Missing` – the data directory holds no database yet, and the command creates none
 * * `Unusable` – the data directory cannot be created, read or written
 * * `Full` – no space left
 * * `Damaged` – the embedded database does not start from its files
 * * `Unreachable` – no server answers at the URL
 * * `Refused` – the server rejects the user, or has no such database
 * * `TooOld` – the version of the server
 * * `Newer` – a newer Windhover has changed the schema
 * * `Moved` – the rows were moved to another database
 * * `Loading` – the rows of another database are being moved into this one
 * * `NoTrigrams` – the extension pg_trgm is missing
 * * `Key` – the encryption keys do not fit the secrets in the database
 * * `Migration` – a migration failed and was rolled back
 */
export class DatabaseError extends Schema.TaggedError<DatabaseError>()("DatabaseError", {
  reason: reasonOf([
    "Locked",
    "Missing",
    "Unusable",
    "Full",
    "Damaged",
    "Unreachable",
    "Refused",
    "TooOld",
    "Newer",
    "Moved",
    "Loading",
    "NoTrigrams",
    "Key",
    "Migration"
  ]),
  cause: Schema.optionalKey(Schema.Defect())
}) {
  override get message(): string {
    return this.reason.message
  }
}

export const databaseError = (
  tag: DatabaseError["reason"]["_tag"],
  message: string,
  ...[cause]: [cause?: unknown]
): DatabaseError => new DatabaseError({ reason: { _tag: tag, message }, ...(cause === undefined ? {} : { cause }) })
