import { PGlite } from "@electric-sql/pglite"
import { EmscriptenBuiltinFilesystem } from "@electric-sql/pglite/basefs"
import { fstatSync, unlinkSync } from "node:fs"
import { basename, join, relative } from "node:path"
import { Checkpoint } from "./Checkpoint.ts"
import type { CommitSync } from "./CommitSync.ts"
import { NextLogFile } from "./NextLogFile.ts"

/** A file or directory as Emscripten knows it. */
interface FileNode {
  readonly name: string
}

/** An open file or directory, with its descriptor on disk and its path in PGlite. */
interface Stream {
  readonly nfd?: number
  readonly path: string
}

type Operation<Of> = (of: Of, ...more: ReadonlyArray<unknown>) => unknown

type Operations<Of> = Record<string, Operation<Of>>

/** Emscripten's directory of the disk, which its types do not describe. */
interface DiskFiles {
  readonly node_ops: Operations<FileNode>
  readonly stream_ops: Operations<Stream>
  readonly realPath: (node: FileNode) => string
}

/** A directory on disk, like PGlite's `NodeFS`, but with fsync, and mounted when its path is known. */
export class DurableFiles extends EmscriptenBuiltinFilesystem {
  readonly #cluster: Promise<string>
  readonly #commits: CommitSync
  readonly #crash: (error: unknown) => never
  #checkpoint: Checkpoint | undefined

  constructor(cluster: Promise<string>, commits: CommitSync, crash: (error: unknown) => never) {
    super()
    this.#cluster = cluster
    this.#commits = commits
    this.#crash = crash
  }

  /** Checkpoints of the mounted cluster. */
  get checkpoint(): Checkpoint {
    if (this.#checkpoint === undefined) throw new Error("The cluster is not mounted.")
    return this.#checkpoint
  }

  /** Runs after the program is loaded and before the backend starts, because recovery after a crash writes and syncs too. */
  override async initialSyncFs(): Promise<void> {
    const { FS, NODEFS } = this.#module
    const root = await this.#cluster
    const log = new NextLogFile(join(root, "pg_wal"), this.#crash)
    const keep = (path: string) => isLog(path) && log.keep(path)
    const checkpoint = new Checkpoint((path) => {
      if (!keep(path)) unlinkSync(path)
    }, this.#crash)
    const disk = diskFilesOf(NODEFS)
    this.#patchStreams(disk.stream_ops, root, log, checkpoint)
    this.#patchNames(disk, keep, checkpoint)
    this.#checkpoint = checkpoint
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

  #patchStreams(streams: Operations<Stream>, root: string, log: NextLogFile, checkpoint: Checkpoint): void {
    const commits = this.#commits
    const onDisk = ({ path }: Stream) => join(root, relative(PGlite.paths.PGDATA, path))
    streams["fsync"] = (stream) => {
      if (stream.nfd === undefined) return 0
      const path = onDisk(stream)
      if (isLog(path)) commits.commit({ descriptor: stream.nfd, path })
      else if (!checkpoint.postponesSync(path)) {
        commits.flush()
        commits.sync(stream.nfd)
      }
      return 0
    }
    patch(streams, "write", (stream, ...more) => {
      const { bytes, position } = parseWrite(more)
      if (isLog(stream.path)) {
        void log.prepareAfter(basename(stream.path), position)
        return undefined
      }
      if (commits.isPending && !isExtension(stream, bytes, position)) commits.flush()
      return checkpoint.postponesWrite(onDisk(stream), bytes, position) ? bytes.length : undefined
    })
    patch(streams, "close", ({ nfd }) => {
      if (nfd !== undefined) commits.close(nfd)
    })
    patch(streams, "setattr", (stream) => {
      commits.flush()
      checkpoint.beforeChange(onDisk(stream))
    })
  }

  #patchNames({ node_ops: names, realPath }: DiskFiles, keep: (path: string) => boolean, checkpoint: Checkpoint): void {
    const beforeChange = (path: string) => {
      this.#commits.flush()
      checkpoint.beforeChange(path)
    }
    const pathOf = (directory: FileNode, name: unknown) => join(realPath(directory), String(name))
    patch(names, "setattr", (node) => beforeChange(realPath(node)))
    for (const name of ["mknod", "rmdir", "symlink"]) {
      patch(names, name, (...target) => beforeChange(pathOf(target[0], target[1])))
    }
    patch(names, "rename", (_, directory, name) => beforeChange(pathOf(directory as FileNode, name)))
    patch(names, "unlink", (directory, name) => {
      this.#commits.flush()
      const path = pathOf(directory, name)
      const isDone = checkpoint.postponesRemoval(path) || keep(path)
      return isDone ? 0 : undefined
    })
  }
}

/** Calls `before` ahead of an operation. A result of `before` replaces the operation. */
const patch = <Of>(
  operations: Operations<Of>,
  name: string,
  before: (...parameters: Parameters<Operation<Of>>) => number | void
): void => {
  const operation = operations[name]
  if (operation === undefined) throw new Error(`This version of PGlite has no operation ${name} to patch.`)
  operations[name] = (...parameters) => before(...parameters) ?? operation(...parameters)
}

const diskFilesOf = (type: object): DiskFiles => {
  for (const name of ["node_ops", "stream_ops", "realPath"]) {
    if (!(name in type)) throw new Error(`This version of PGlite has no NODEFS.${name} to patch.`)
  }
  return type as DiskFiles
}

/** Parameters of a write behind the stream: memory, offset, length, position. */
const parseWrite = ([memory, offset, length, position]: ReadonlyArray<unknown>) => {
  if (
    !ArrayBuffer.isView(memory) || typeof offset !== "number" || typeof length !== "number" ||
    typeof position !== "number"
  ) {
    throw new Error("This version of PGlite writes with other parameters.")
  }
  return { bytes: Buffer.from(memory.buffer, memory.byteOffset + offset, length), position }
}

/** True for a file of the write-ahead log that has its final name. */
const isLog = (path: string): boolean => /\/pg_wal\/[0-9A-F]{24}$/.test(path)

/**
 * True for a write of empty pages behind the end of a file. PostgreSQL extends a table before it logs the new pages, and accepts empty ones
 * after a crash.
 */
const isExtension = ({ nfd }: Stream, bytes: Buffer, position: number): boolean =>
  nfd !== undefined && bytes.length <= emptyPages.length && position >= fstatSync(nfd).size &&
  emptyPages.compare(bytes, 0, bytes.length, 0, bytes.length) === 0

const emptyPages = Buffer.alloc(64 * 1024)
