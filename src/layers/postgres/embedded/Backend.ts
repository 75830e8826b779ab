import { PGlite } from "@electric-sql/pglite"
import { EmscriptenBuiltinFilesystem } from "@electric-sql/pglite/basefs"
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm"
import { fstatSync } from "node:fs"
import { basename, join, relative } from "node:path"
import { setFlagsFromString } from "node:v8"
import { CommitSync } from "./CommitSync.ts"
import { NextLogFile } from "./NextLogFile.ts"
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
  const database = new Database({
    fs: new DurableFiles(cluster, commits, crash),
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
  return {
    execute: makeExecute(database, crash),
    whenSynced: (answer) => commits.whenSynced(answer),
    close: () => {
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
  "shared_buffers=16MB", // the page cache of the kernel holds the rest
  "default_statistics_target=25", // all statements wait for an analyze: 72 ms with the default sample of 30,000 rows, 20 with this one
  "log_min_messages=fatal", // the client receives its own errors
  "log_min_error_statement=panic"
].flatMap((setting) => ["-c", setting])

interface NodeStream {
  readonly nfd?: number
  readonly path: string
}

type Operation = (of: NodeStream, ...more: ReadonlyArray<unknown>) => unknown

/** Operations of Emscripten on open files or on names. */
type Operations = Record<string, Operation>

/** Changes of a cluster's files apart from written pages. */
const changes = ["setattr", "mknod", "rename", "unlink", "rmdir", "symlink"]

/** A directory on disk, like PGlite's `NodeFS`, but with fsync, and mounted when its path is known. */
class DurableFiles extends EmscriptenBuiltinFilesystem {
  readonly #cluster: Promise<string>
  readonly #commits: CommitSync
  readonly #crash: (error: unknown) => never

  constructor(cluster: Promise<string>, commits: CommitSync, crash: (error: unknown) => never) {
    super()
    this.#cluster = cluster
    this.#commits = commits
    this.#crash = crash
  }

  /** Runs after the program is loaded and before the backend starts, because recovery after a crash writes and syncs too. */
  override async initialSyncFs(): Promise<void> {
    const { FS, NODEFS } = this.#module
    const root = await this.#cluster
    this.#patchStreams(operationsOf(NODEFS, "stream_ops"), root)
    this.#flushBefore(operationsOf(NODEFS, "node_ops"), changes)
    FS.mkdirTree(PGlite.paths.PGDATA)
    FS.mount(NODEFS, { root }, PGlite.paths.PGDATA)
  }

  override closeFs(): Promise<void> {
    this.#module.FS.quit()
    return Promise.resolve()
  }

  get #module(): PGlite["Module"] {
    if (this.pg === undefined) throw new Error("PGlite uses its file system before its initialization.")
    return this.pg.Module
  }

  #patchStreams(streams: Operations, root: string): void {
    const commits = this.#commits
    const nextLogFile = new NextLogFile(join(root, "pg_wal"), this.#crash)
    streams["fsync"] = (stream) => {
      if (stream.nfd === undefined) return 0
      if (isLog(stream)) {
        commits.commit({ descriptor: stream.nfd, path: join(root, relative(PGlite.paths.PGDATA, stream.path)) })
      } else {
        commits.flush()
        commits.sync(stream.nfd)
      }
      return 0
    }
    patch(streams, "write", (stream, ...more) => {
      if (isLog(stream)) void nextLogFile.prepareAfter(basename(stream.path), Number(more[3]))
      else if (commits.isPending && !isExtension(stream, more)) commits.flush()
    })
    patch(streams, "close", ({ nfd }) => nfd !== undefined && commits.close(nfd))
    this.#flushBefore(streams, ["setattr"])
  }

  #flushBefore(operations: Operations, names: ReadonlyArray<string>): void {
    for (const name of names) patch(operations, name, () => this.#commits.flush())
  }
}

/** Calls `before` ahead of an operation. */
const patch = (operations: Operations, name: string, before: Operation): void => {
  const operation = operations[name]
  if (operation === undefined) throw new Error(`This version of PGlite has no operation ${name} to patch.`)
  operations[name] = (...parameters) => {
    before(...parameters)
    return operation(...parameters)
  }
}

/** True for a file of the write-ahead log that has its final name. */
const isLog = ({ path }: NodeStream): boolean => /\/pg_wal\/[0-9A-F]{24}$/.test(path)

/**
 * True for a write of empty pages behind the end of a file. PostgreSQL extends a table before it logs the new pages, and accepts empty ones
 * after a crash.
 */
const isExtension = ({ nfd }: NodeStream, [memory, offset, length, position]: ReadonlyArray<unknown>): boolean => {
  if (nfd === undefined || !ArrayBuffer.isView(memory)) return false
  if (typeof offset !== "number" || typeof length !== "number" || typeof position !== "number") return false
  return length <= emptyPages.length && position >= fstatSync(nfd).size &&
    emptyPages.compare(Buffer.from(memory.buffer, memory.byteOffset + offset, length), 0, length, 0, length) === 0
}

const emptyPages = Buffer.alloc(64 * 1024)

/** A table through which Emscripten calls its files, missing in its types. */
const operationsOf = (type: object, name: string): Operations => {
  const operations: unknown = Reflect.get(type, name)
  if (typeof operations !== "object" || operations === null) {
    throw new Error(`This version of PGlite has no NODEFS.${name} to patch.`)
  }
  return operations as Operations
}

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
