import { loadEnvironmentFile } from "./cli/EnvironmentFile.ts"
import { launchAhead } from "#layers/postgres/embedded/Launch.ts"

loadEnvironmentFile()

/** True for the usual start: plain `serve` without an external database. */
const needsEmbeddedDatabase = process.argv.slice(2).join(" ") === "serve" && !process.env["WINDHOVER_DATABASE_URL"]

// The database thread takes as long to start as the rest of the service, so both start in parallel.
if (needsEmbeddedDatabase) launchAhead()
await import("./cli/CommandLine.ts")
