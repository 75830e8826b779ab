import { launchAhead } from "#layers/postgres/embedded/Launch.ts"

/** `serve` as it is started nearly always: no help is asked for, and no server is named that would be the database. */
const needsEmbeddedDatabase = process.argv.slice(2).join(" ") === "serve" && !process.env["WINDHOVER_DATABASE_URL"]

// The thread of the database takes as long to get ready as all else that a start loads, which is loaded beside it.
if (needsEmbeddedDatabase) launchAhead()
await import("./cli/CommandLine.ts")
