import { findBinaries, startServer } from "#test/support/PostgresServer.ts"
const server = await startServer(findBinaries()!)
process.stdout.write(server.url("postgres") + "\n")
process.on("SIGTERM", () => void server.stop().then(() => process.exit(0)))
setInterval(() => {}, 1000)
