/**
 * The thread of the embedded database: owns its memory, and blocks while a statement runs.
 *
 * Started by `EmbeddedPostgres`; what it is sent and sends is in `Messages`.
 */
import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { parentPort } from "node:worker_threads"
import { type Backend, openBackend } from "./Backend.ts"
import type { FromWorker, Start, ToWorker } from "./Messages.ts"
import { Sessions } from "./Sessions.ts"
import { unpackTemplate } from "./Template.ts"

const port = parentPort
if (port === null) throw new Error("this file runs as a worker thread")

const tell = (message: FromWorker, transfer: Array<ArrayBuffer> = []) => port.postMessage(message, transfer)

const crash = (why: unknown): never => {
  tell({ _tag: "Crashed", why: String(why) })
  process.exit(1)
}

/** Where the cluster is, made from the template when it is missing. */
const prepare = async ({ cluster, mayMake }: Start): Promise<string> => {
  if (!existsSync(cluster)) {
    if (mayMake) await unpackTemplate(cluster)
    else crash(`${cluster} has gone`)
  }
  // The lock of the data directory says who is alone here. PostgreSQL's own word of it, which a kill may leave half written, would keep everybody out.
  rmSync(join(cluster, "postmaster.pid"), { force: true })
  return cluster
}

/** A database that is still being opened is closed when it is. */
const stopWhenTold = (message: ToWorker) => {
  if (message._tag === "Shutdown") void opening.then((backend) => backend.close()).then(() => process.exit(0), crash)
}

const serve = (backend: Backend, { idleTransaction }: Start) => {
  const sessions = new Sessions(
    backend.execute,
    (id, bytes) =>
      bytes === undefined ? tell({ _tag: "Closed", id }) : tell({ _tag: "Data", id, bytes }, [bytes.buffer])
  )
  setInterval(() => sessions.expire(idleTransaction), idleTransaction / 4).unref()
  port.on("message", (message: ToWorker) => {
    switch (message._tag) {
      case "Open":
        return sessions.open(message.id)
      case "Data":
        return sessions.receive(message.id, message.bytes)
      case "Close":
        return sessions.close(message.id)
    }
  })
  tell({ _tag: "Ready" })
}

const told = new Promise<Start>((resolve) => {
  port.once("message", (start: Start) => {
    port.on("message", stopWhenTold)
    resolve(start)
  })
})
const opening = openBackend(told.then(prepare).catch(crash), crash, (line) => tell({ _tag: "Log", line }))
await Promise.all([opening, told]).then(([backend, start]) => serve(backend, start)).catch(crash)
