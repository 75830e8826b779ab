import { setFlagsFromString } from "node:v8"
import { type ResourceLimits, Worker } from "node:worker_threads"

/** Starts a thread with limits of its own. The thread reads `data` as its `workerData`. */
export const startWorker = (script: URL, name: string, resourceLimits: ResourceLimits, data?: unknown): Worker => {
  setFlagsFromString("--max-semi-space-size=0") // the flag of the process would replace the limit of the young generation
  return new Worker(script, { name, execArgv: [], resourceLimits, workerData: data })
}
