import type { Worker } from "node:worker_threads"
import { startWorker } from "#layers/WorkerMemory.ts"
import type { Start } from "./Messages.ts"

/** A running thread without a cluster. */
let launched: Worker | undefined

/**
 * Starts the thread before its cluster is known. The part that is equal for all clusters takes half of a start.
 *
 * Until `launch` passes the cluster, the thread reads only files of the program and keeps no process alive.
 */
export const launchAhead = (): void => {
  try {
    launched = launchWorker()
  } catch {
    return // the system has no thread left: `launch` tries again and throws
  }
  launched.unref()
  const forget = () => void (launched = undefined)
  launched.once("error", forget).once("exit", forget)
}

/** Starts a database in a thread. Throws when the system has no thread left. */
export const launch = (start: Start): Worker => {
  const worker = launched ?? launchWorker()
  launched = undefined
  worker.ref()
  worker.postMessage(start)
  return worker
}

/** Statements and answers are short-lived and small. By default the thread would get the young generation of the whole process. */
const resourceLimits = { maxYoungGenerationSizeMb: 12 }

const launchWorker = (): Worker =>
  startWorker(new URL(import.meta.resolve("#layers/postgres/embedded/worker.ts")), "database", resourceLimits)
