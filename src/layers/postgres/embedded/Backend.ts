import { PGlite } from "@electric-sql/pglite"
import { EmscriptenBuiltinFilesystem } from "@electric-sql/pglite/basefs"
import { pg_trgm } from "@electric-sql/pglite/contrib/pg_trgm"
import * as fs from "node:fs"
import type { Execute } from "./Sessions.ts"

/** One PostgreSQL backend over a cluster's directory. */
export interface Backend {
  readonly execute: Execute
  /** Writes everything out, so that the next start has nothing to recover. */
  readonly close: () => Promise<void>
}

/**
 * Starts PGlite as a database that keeps what it acknowledged.
 *
 * As it comes it does not: it runs with fsync off, its file system has no fsync, and it goes on after a panic as if nothing had happened.
 * `crash` is called in the middle of such a fault and must not return.
 *
 * Half of a start is the same for every cluster. It is done while the promise of the cluster's directory is pending.
 */
export const openBackend = async (
  cluster: Promise<string>,
  crash: (why: unknown) => never,
  log: (line: string) => void
): Promise<Backend> => {
  const database = await PGlite.create({
    fs: new DurableFiles(cluster, crash),
    extensions: { pg_trgm },
    startParams: [...PGlite.defaultStartParams.filter((parameter) => parameter !== "-F"), ...configuration],
    onStderr: (line) => {
      log(line)
      return true
    }
  })
  crashOnPanic(database, crash)
  return {
    execute: executing(database, crash),
    close: () => database.close()
  }
}

/** Bytes of room for answers; more is given back after the answer that took it. */
const usualRoom = 64 * 1024

/**
 * Runs cycles by PGlite's stream of raw bytes.
 *
 * Its `execProtocolRawSync` alone would also read every message of the answers in JavaScript, which took almost half of this thread's time,
 * and keep all that it has ever read. The stream calls the same, and nothing else but `syncToFs` would make it wait: it is through when it returns.
 */
const executing = (database: PGlite, crash: (why: unknown) => never): Execute => {
  const run = database.execProtocolRawSync.bind(database)
  /** Told at once: the stream's promise rejects only when a part of an answer has been handed on as all of it. */
  const faults: Array<unknown> = []
  database.execProtocolRawSync = (cycle) => {
    try {
      return run(cycle)
    } catch (error) {
      faults.push(error)
      throw error
    }
  }
  let room = new Uint8Array(usualRoom)
  let length = 0
  /** What it is given is a part of the backend's memory, and its own for no longer than the call. */
  const onRawData = (bytes: Uint8Array) => {
    if (length + bytes.length > room.length) {
      const larger = new Uint8Array(2 * (length + bytes.length))
      larger.set(room)
      room = larger
    }
    room.set(bytes, length)
    length += bytes.length
  }
  return (cycle) => {
    length = 0
    void database.execProtocolRawStream(cycle, { syncToFs: false, onRawData })
      .catch((why) => faults.includes(why) || crash(why))
    if (faults.length > 0) crash(faults[0])
    const answer = room.slice(0, length)
    if (room.length > usualRoom) room = new Uint8Array(usualRoom)
    return answer
  }
}

const configuration = [
  "wal_sync_method=fsync", // the other methods end in system calls that do nothing here
  "shared_buffers=16MB", // the kernel's page cache does the rest
  "log_min_messages=fatal", // an error is told to the client that made it
  "log_min_error_statement=panic"
].flatMap((setting) => ["-c", setting])

interface NodeStream {
  readonly nfd?: number
}

/** A directory on disk, as PGlite's `NodeFS` has it, with the fsync that it lacks; mounted as late as it is known which. */
class DurableFiles extends EmscriptenBuiltinFilesystem {
  readonly #cluster: Promise<string>
  readonly #crash: (why: unknown) => never

  constructor(cluster: Promise<string>, crash: (why: unknown) => never) {
    super()
    this.#cluster = cluster
    this.#crash = crash
  }

  /** Called when the program is loaded, and before the backend starts: recovery after a crash writes, and syncs, as well. */
  override async initialSyncFs(): Promise<void> {
    const { FS, NODEFS } = this.#module
    this.#addFsync(streamOperations(NODEFS))
    FS.mkdirTree(PGlite.paths.PGDATA)
    FS.mount(NODEFS, { root: await this.#cluster }, PGlite.paths.PGDATA)
  }

  override closeFs(): Promise<void> {
    this.#module.FS.quit()
    return Promise.resolve()
  }

  get #module(): PGlite["Module"] {
    if (this.pg === undefined) throw new Error("PGlite uses its file system before it has told which one it is")
    return this.pg.Module
  }

  #addFsync(operations: { fsync?: (stream: NodeStream) => number }): void {
    operations.fsync = ({ nfd }) => {
      try {
        if (nfd !== undefined) fs.fdatasyncSync(nfd)
        return 0
      } catch (error) {
        return this.#crash(error) // what was not written once may be gone from the kernel's cache: only a recovery tells
      }
    }
  }
}

/** Emscripten's types leave out the table that its files call through. */
const streamOperations = (type: object): object => {
  if (!("stream_ops" in type) || typeof type.stream_ops !== "object" || type.stream_ops === null) {
    throw new Error("this version of PGlite has no NODEFS.stream_ops to mend")
  }
  return type.stream_ops
}

/** Status of the exception by which PostgreSQL leaves a failed statement (its longjmp). */
const statementFailed = 100

/** PGlite swallows whatever the main loop throws. Only a failed statement is harmless: a panic, a trap or an exit is the end. */
const crashOnPanic = (database: PGlite, crash: (why: unknown) => never): void => {
  const module = database.Module
  const once = module._PostgresMainLoopOnce
  module._PostgresMainLoopOnce = () => {
    try {
      once()
    } catch (error) {
      if (typeof error === "object" && error !== null && "status" in error && error.status === statementFailed) {
        throw error
      }
      crash(error)
    }
  }
}
