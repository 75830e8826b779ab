import { Worker } from "node:worker_threads"
import type { Start } from "./Messages.ts"

/** A thread that has no cluster yet. */
let ahead: Worker | undefined

/**
 * Begins the thread of a database before it is known which one: what is the same for all of them takes half the time of its start.
 *
 * It touches no file that is not of the program, and keeps no process alive. The next `launch` takes it.
 */
export const launchAhead = (): void => {
  try {
    ahead = begin()
  } catch {
    return // the system has no thread to give: `launch` asks again, and is told
  }
  ahead.unref()
  const forget = () => void (ahead = undefined)
  ahead.once("error", forget).once("exit", forget)
}

/** A thread that starts this database; throws when the system has none to give. */
export const launch = (start: Start): Worker => {
  const worker = ahead ?? begin()
  ahead = undefined
  worker.ref()
  worker.postMessage(start)
  return worker
}

const begin = (): Worker => new Worker(new URL("./worker.ts", import.meta.url), { name: "database", execArgv: [] })
