/**
 * The thread of the embedded database: owns its memory, and blocks while a statement runs.
 *
 * Started by `EmbeddedPostgres`; what it is sent and sends is in `Messages`.
 */
import { existsSync, rmSync } from "node:fs"
import { join } from "node:path"
import { parentPort, workerData } from "node:worker_threads"
import { type Backend, openBackend } from "./Backend.ts"
import type { FromWorker, Start, ToWorker } from "./Messages.ts"
import { Sessions } from "./Sessions.ts"
import { unpackTemplate } from "./Template.ts"

const port = parentPort
if (port === null) throw new Error("this file runs as a worker thread")

const { cluster, idleTransaction, mayMake } = workerData as Start // typed by the one who starts the thread

const tell = (message: FromWorker, transfer: Array<ArrayBuffer> = []) => port.postMessage(message, transfer)

const crash = (why: unknown): never => {
  tell({ _tag: "Crashed", why: String(why) })
  process.exit(1)
}

const serve = (backend: Backend) => {
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
      case "Shutdown":
        void backend.close().then(() => process.exit(0), crash)
    }
  })
  tell({ _tag: "Ready" })
}

if (!existsSync(cluster)) {
  if (mayMake) await unpackTemplate(cluster).catch(crash)
  else crash(`${cluster} has gone`)
}
// The lock of the data directory says who is alone here. PostgreSQL's own word of it, which a kill may leave half written, would keep everybody out.
rmSync(join(cluster, "postmaster.pid"), { force: true })
await openBackend(cluster, crash, (line) => tell({ _tag: "Log", line })).then(serve, crash)
