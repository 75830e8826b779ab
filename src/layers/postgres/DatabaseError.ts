import { Schema } from "effect"

/**
 * Windhover cannot start on this database; `message` is for the operator: what is wrong, where, and what to do.
 *
 * * `locked` – another process has the data directory
 * * `unusable` – the data directory cannot be made, read or written
 * * `full` – no space left
 * * `damaged` – the embedded database does not start from its files
 * * `unreachable` – no server answers at the URL
 * * `refused` – the server does not let this user in, or has no such database
 * * `too-old` – the server's version
 * * `newer` – a newer Windhover has changed the schema
 * * `no-trigrams` – the extension pg_trgm is missing
 * * `migration` – a migration failed; nothing of it is left
 */
export class DatabaseError extends Schema.TaggedError<DatabaseError>()("DatabaseError", {
  reason: Schema.Literals([
    "locked",
    "unusable",
    "full",
    "damaged",
    "unreachable",
    "refused",
    "too-old",
    "newer",
    "no-trigrams",
    "migration"
  ]),
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Defect())
}) {}
