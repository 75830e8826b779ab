import { GCProfiler, getHeapStatistics } from "node:v8"
import { Worker } from "node:worker_threads"
import { collectGarbage } from "#layers/GarbageCollection.ts"
import { Frames } from "#layers/postgres/embedded/Frames.ts"
import type { ToWorker } from "#layers/postgres/embedded/Messages.ts"

/** Work of a process since the reading before. */
export interface Reading {
  /** Executions by the text of the statement. */
  readonly statements: Readonly<Record<string, number>>
  /** Messages to the thread of the database. */
  readonly messages: number
  /** New timers by their time in ms. */
  readonly timers: Readonly<Record<string, number>>
  readonly allocatedBytes: number
}

/** Counts the work of this process from now on, without a change of the code that works. Call it before the service is loaded. */
export const startProbe = (): { readonly read: () => Reading; readonly reset: () => void } => {
  const statements = countStatements()
  const timers = countTimers()
  let allocations = startAllocations()
  return {
    read: () => ({ ...statements.read(), timers: timers.read(), allocatedBytes: allocations.stop() }),
    reset: () => {
      statements.reset()
      timers.reset()
      collectGarbage()
      allocations = startAllocations()
    }
  }
}

const increment = (counts: Map<string, number>, key: string): void => {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}

/** A connection to the database, as its bytes tell. */
interface Connection {
  readonly frames: Frames
  /** Text of each prepared statement. */
  readonly texts: Map<string, string>
  bound: string
}

const countStatements = () => {
  const connections = new Map<number, Connection>()
  const executions = new Map<string, number>()
  let messages = 0
  const { postMessage } = Worker.prototype
  Worker.prototype.postMessage = function(message: ToWorker | undefined, transfer) {
    if (message?._tag === "Open") connections.set(message.id, { frames: new Frames(), texts: new Map(), bound: "" })
    if (message?._tag === "Data") {
      messages++
      const connection = connections.get(message.id)
      for (const frame of connection?.frames.push(message.bytes) ?? []) {
        if (frame._tag === "Cycle" && connection !== undefined) readCycle(connection, frame.bytes, executions)
      }
    }
    postMessage.call(this, message, transfer)
  }
  return {
    read: () => ({ statements: Object.fromEntries(executions), messages }),
    reset: () => {
      executions.clear()
      messages = 0
    }
  }
}

/** Counts each Execute and simple Query of a cycle of PostgreSQL's protocol. */
const readCycle = (connection: Connection, cycle: Uint8Array, executions: Map<string, number>): void => {
  const bytes = Buffer.from(cycle.buffer, cycle.byteOffset, cycle.byteLength)
  const readTexts = (from: number, to: number) => bytes.toString("utf8", from, to).split("\0")
  for (let at = 0; at + 5 <= bytes.length;) {
    const end = at + 1 + bytes.readInt32BE(at + 1)
    const type = String.fromCharCode(bytes[at] ?? 0)
    const [first = "", second = ""] = "PBQ".includes(type) ? readTexts(at + 5, end) : []
    if (type === "P") connection.texts.set(first, second)
    if (type === "B") connection.bound = connection.texts.get(second) ?? ""
    if (type === "E") increment(executions, connection.bound)
    if (type === "Q") increment(executions, first)
    at = end
  }
}

/** Intervals do not count: the start of one depends on the pace of the work. */
const countTimers = () => {
  const created = new Map<string, number>()
  globalThis.setTimeout = new Proxy(globalThis.setTimeout, {
    apply: (target, self, options) => {
      increment(created, String(options[1] ?? 0))
      return Reflect.apply(target, self, options)
    }
  })
  return { read: () => Object.fromEntries(created), reset: () => created.clear() }
}

/** Bytes that the main thread allocates: the growth of the heap between collections. */
const startAllocations = () => {
  const profiler = new GCProfiler()
  const before = getHeapStatistics().used_heap_size
  profiler.start()
  return {
    stop: (): number => {
      const after = getHeapStatistics().used_heap_size
      let allocated = 0
      let used = before
      for (const { afterGC, beforeGC } of profiler.stop()?.statistics ?? []) {
        allocated += beforeGC.heapStatistics.usedHeapSize - used
        used = afterGC.heapStatistics.usedHeapSize
      }
      return allocated + after - used
    }
  }
}
