import { PGlite } from "@electric-sql/pglite"
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm"
import { setFlagsFromString } from "node:v8"
import { CommitSync } from "./CommitSync.ts"
import { DurableFiles } from "./DurableFiles.ts"
import { checkpoint } from "./Frames.ts"
import type { Execute, SharedBackend } from "./Sessions.ts"

/** One PostgreSQL backend over a cluster's directory. */
export interface Backend extends SharedBackend {
  /** Writes all data to disk, so that the next start needs no recovery. */
  readonly close: () => Promise<void>
}

/**
 * Starts PGlite as a database that keeps acknowledged transactions.
 *
 * By default PGlite turns fsync off, its file system has no fsync, and it continues after a panic.
 * This backend calls `crash` in the middle of such a fault. `crash` must not return.
 *
 * Half of a start is equal for all clusters, and runs before the promise of the cluster's directory resolves.
 */
export const openBackend = async (
  cluster: Promise<string>,
  crash: (error: unknown) => never,
  log: (line: string) => void
): Promise<Backend> => {
  const commits = new CommitSync(crash)
  const files = new DurableFiles(cluster, commits, crash)
  const database = new Database({
    fs: files,
    extensions: { pg_trgm },
    startParams: [...PGlite.defaultStartParams.filter((parameter) => parameter !== "-F"), ...configuration],
    onStderr: (line) => {
      log(line)
      return true
    }
  })
  await database.waitReady
  crashOnPanic(database, crash)
  commits.defer()
  const execute = makeExecute(database, crash)
  return {
    execute,
    whenSynced: (answer) => commits.whenSynced(answer),
    checkpoint: () => {
      files.checkpoint.begin()
      execute(checkpoint())
      return files.checkpoint.end()
    },
    close: () => {
      files.checkpoint.settle()
      commits.stopDeferring()
      return database.close()
    }
  }
}

/**
 * PGlite whose grammar V8 never optimizes.
 *
 * Bison's parser is one function of 105 kB. V8's optimizing compiler takes 600 MB and 6 CPU s for this function at every
 * start, but the statements of Windhover are prepared once, and hardly run the parser again.
 */
class Database extends PGlite {
  #parserIsCompiled = false

  override execProtocolRawSync(message: Uint8Array): Uint8Array {
    if (!this.#parserIsCompiled && message[0] !== startupPacket) {
      this.#parserIsCompiled = true
      withoutOptimization(() => super.execProtocolRawSync(emptyQuery))
    }
    return super.execProtocolRawSync(message)
  }
}

/** First byte of a startup packet, which has no type. */
const startupPacket = 0

/** The message Query with an empty string: it runs the parser and nothing else that later statements run often. */
const emptyQuery = Uint8Array.of("Q".charCodeAt(0), 0, 0, 0, 5, 0)

/**
 * V8 compiles a WebAssembly function at its first call, and adds the counter that leads to optimization. With a filter,
 * V8 adds the counter to one function only. Index 0 is an import, and therefore no function that V8 compiles.
 */
const withoutOptimization = (run: () => void): void => {
  setFlagsFromString("--wasm-tier-up-filter=0")
  try {
    run()
  } finally {
    setFlagsFromString("--wasm-tier-up-filter=-1")
  }
}

/**
 * Bytes of the answer buffer. A larger answer gets a larger buffer, which is released after it.
 *
 * Answers to several readers at once often have 200 kB. A growing buffer would copy them twice, into fresh memory of the system.
 */
const bufferSize = 1024 * 1024

/**
 * Runs cycles by PGlite's stream of raw bytes.
 *
 * `execProtocolRawSync` alone would also parse each message of the answers in JavaScript, which took almost half of the
 * time of this thread, and would keep all parsed messages. The stream calls the same function. Without `syncToFs` it
 * does not wait, so that the cycle is complete when the call returns.
 */
const makeExecute = (database: PGlite, crash: (error: unknown) => never): Execute => {
  const run = database.execProtocolRawSync.bind(database)
  /** Collected synchronously, because the promise of the stream rejects after a partial answer was passed on as a whole one. */
  const faults: Array<unknown> = []
  database.execProtocolRawSync = (cycle) => {
    try {
      return run(cycle)
    } catch (error) {
      faults.push(error)
      throw error
    }
  }
  let buffer = new Uint8Array(bufferSize)
  let length = 0
  /** `bytes` is a view of the backend's memory, and valid during the call only. */
  const onRawData = (bytes: Uint8Array) => {
    if (length + bytes.length > buffer.length) {
      const larger = new Uint8Array(2 * (length + bytes.length))
      larger.set(buffer)
      buffer = larger
    }
    buffer.set(bytes, length)
    length += bytes.length
  }
  return (cycle) => {
    length = 0
    void database.execProtocolRawStream(cycle, { syncToFs: false, onRawData })
      .catch((error) => faults.includes(error) || crash(error))
    if (faults.length > 0) crash(faults[0])
    const answer = buffer.slice(0, length)
    if (buffer.length > bufferSize) buffer = new Uint8Array(bufferSize)
    return answer
  }
}

const configuration = [
  "wal_sync_method=fsync", // the other methods use system calls that do nothing in PGlite
  "wal_recycle=off", // old files of the log become next ones by another way, once the control file is on disk
  "shared_buffers=16MB", // the page cache of the kernel holds the rest
  "default_statistics_target=25", // all statements wait for an analyze: 72 ms with the default sample of 30,000 rows, 20 with this one
  "log_min_messages=fatal", // the client receives its own errors
  "log_min_error_statement=panic"
].flatMap((setting) => ["-c", setting])

/** Status of the exception by which PostgreSQL leaves a failed statement (its longjmp). */
const failedStatement = 100

/** PGlite swallows all exceptions of the main loop. Only a failed statement is harmless; a panic, a trap or an exit is fatal. */
const crashOnPanic = (database: PGlite, crash: (error: unknown) => never): void => {
  const module = database.Module
  const once = module._PostgresMainLoopOnce
  module._PostgresMainLoopOnce = () => {
    try {
      once()
    } catch (error) {
      if (typeof error === "object" && error !== null && "status" in error && error.status === failedStatement) {
        throw error
      }
      crash(error)
    }
  }
}
