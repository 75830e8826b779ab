/**
 * The thread of the embedded database. It owns the memory of PGlite and blocks while a statement runs.
 *
 * `Launch` starts it, and `Messages` has its protocol.
 */
import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { parentPort } from "node:worker_threads"
import { releaseDelayMs, releaseMemory } from "#layers/ReleaseMemory.ts"
import { type Backend, openBackend } from "./Backend.ts"
import type { FromWorker, Start, ToWorker } from "./Messages.ts"
import { Sessions } from "./Sessions.ts"
import { unpackTemplate } from "./Template.ts"

const port = parentPort
if (port === null) throw new Error("This file runs as a worker thread.")

const send = (message: FromWorker, transfer: Array<ArrayBuffer> = []) => port.postMessage(message, transfer)

const crash = (error: unknown): never => {
  send({ _tag: "Crashed", problem: String(error) })
  process.exit(1)
}

/** Returns the directory of the cluster. Creates a missing cluster from the template. */
const prepareCluster = async ({ cluster, mayCreate }: Start): Promise<string> => {
  if (!existsSync(cluster)) {
    if (mayCreate) await unpackTemplate(cluster)
    else crash(`${cluster} has gone`)
  }
  // The data directory has a lock of its own. A kill can leave a partial pid file of PostgreSQL, which would block every start.
  rmSync(join(cluster, "postmaster.pid"), { force: true })
  return cluster
}

/** Closes the database, after its start if it is still starting. */
const stopOnShutdown = (message: ToWorker) => {
  if (message._tag === "Shutdown") void opening.then((backend) => backend.close()).then(() => process.exit(0), crash)
}

const serve = (backend: Backend, { idleTransactionMs }: Start) => {
  const sessions = new Sessions(
    backend,
    (id, bytes) =>
      bytes === undefined ? send({ _tag: "Closed", id }) : send({ _tag: "Data", id, bytes }, [bytes.buffer])
  )
  setInterval(() => sessions.expire(idleTransactionMs), idleTransactionMs / 4).unref()
  setTimeout(releaseMemory, releaseDelayMs).unref()
  port.on("message", (message: ToWorker) => {
    switch (message._tag) {
      case "Open":
        return sessions.open(message.id)
      case "Data":
        return sessions.receive(message.id, message.bytes)
      case "Close":
        return sessions.close(message.id)
      case "Checkpoint":
        return void sessions.checkpoint().then((isMade) => send({ _tag: "Checkpointed", isMade }))
    }
  })
  send({ _tag: "Ready" })
}

const start = new Promise<Start>((resolve) => {
  port.once("message", (message: Start) => {
    port.on("message", stopOnShutdown)
    resolve(message)
  })
})
const opening = openBackend(start.then(prepareCluster).catch(crash), crash, (line) => send({ _tag: "Log", line }))
await Promise.all([opening, start]).then(([backend, options]) => serve(backend, options)).catch(crash)
