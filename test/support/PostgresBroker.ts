import { Effect, Redacted } from "effect"
import { once } from "node:events"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import type { TestProject } from "vitest/node"
import { migrate } from "#layers/sql/Migrations.ts"
import * as Postgres from "#layers/postgres/Postgres.ts"
import { findBinaries, type PostgresServer, startServer } from "./PostgresServer.ts"

/**
 * Lends databases of one PostgreSQL server to all test files of a run. `POST /` returns a new one with the schema, `POST /empty` one
 * without, `DELETE /name` drops it.
 *
 * The server starts with the first request, and stops at the end of the run.
 */
export const setup = async (project: TestProject): Promise<() => Promise<void>> => {
  const binaries = findBinaries()
  if (binaries === undefined) {
    project.provide("postgres", undefined)
    return missing()
  }
  let server: Promise<PostgresServer> | undefined
  const started = () => server ??= startWithTemplate(binaries)
  const broker = http.createServer((request, response) => {
    void answer(request, started).then(
      (text) => response.end(text),
      (error) => response.writeHead(500).end(String(error))
    )
  }).listen(0, "127.0.0.1")
  await once(broker, "listening")
  project.provide("postgres", `http://127.0.0.1:${(broker.address() as AddressInfo).port}`)
  return async () => {
    broker.close()
    broker.closeAllConnections()
    await (await server)?.stop()
  }
}

declare module "vitest" {
  interface ProvidedContext {
    /** URL of the broker; undefined without an installed server. */
    readonly postgres: string | undefined
  }
}

const missing = (): () => Promise<void> => {
  const message = "No PostgreSQL server is installed (/usr/lib/postgresql/*/bin): apt-get install postgresql."
  if (process.env["CI"] === "true") throw new Error(message)
  process.stderr.write(`\n*** ${message}\n*** ALL TESTS ON A REAL SERVER ARE SKIPPED.\n\n`)
  return () => Promise.resolve()
}

const template = "windhover_template"

const startWithTemplate = async (binaries: string): Promise<PostgresServer> => {
  const server = await startServer(binaries)
  await server.run("postgres", `create database ${template}`)
  await Effect.runPromise(
    migrate.pipe(Effect.provide(Postgres.layer({ url: Redacted.make(server.url(template)) })), Effect.scoped)
  )
  return server
}

let lent = 0

const answer = async (request: http.IncomingMessage, started: () => Promise<PostgresServer>): Promise<string> => {
  const server = await started()
  if (request.method === "DELETE") {
    const name = request.url?.slice(1) ?? ""
    if (!/^test_\d+$/.test(name)) throw new Error(`${name} was not lent`)
    return server.run("postgres", `drop database ${name} with (force)`)
  }
  const name = `test_${++lent}`
  await server.run("postgres", `create database ${name} template ${request.url === "/empty" ? "template0" : template}`)
  return server.url(name)
}
