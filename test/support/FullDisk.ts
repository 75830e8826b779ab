/**
 * Simulates a full disk, preloaded into a process (`NODE_OPTIONS=--import …`). The file named by `FULL_DISK` controls the mode.
 *
 * A small file system would need root to be mounted. This module instead rejects writes of the embedded database, which all go through
 * `fs.writeSync`. With `grow` in the file, writes that extend a file fail, as on a disk without free blocks. With `copy`, writes to the log
 * fail, as on file systems that allocate new blocks for overwritten data (Btrfs, ZFS, thin volumes).
 */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"

const mark = process.env["FULL_DISK"] ?? ""
const { writeSync } = fs

/** Arguments of PGlite's calls of `fs.writeSync`. */
type Write = readonly [fd: number, bytes: NodeJS.ArrayBufferView, offset: number, length: number, position: number]

const refused = ([fd, , , length, position]: Write): boolean => {
  const file = fs.readlinkSync(`/proc/self/fd/${fd}`)
  if (!file.includes("/database/")) return false
  switch (fullness()) {
    case "copy":
      return file.includes("/pg_wal/")
    case "grow":
      return position + length > fs.fstatSync(fd).size
    default: // or the file is being written
      return false
  }
}

const fullness = (): string | undefined => {
  try {
    return fs.readFileSync(mark, "utf8")
  } catch {
    return undefined
  }
}

const write = (...call: Write): number => {
  if (refused(call)) {
    throw Object.assign(new Error("ENOSPC: no space left on device, write"), { code: "ENOSPC", errno: -28 })
  }
  return writeSync(...call)
}

Object.assign(fs, { writeSync: write })
syncBuiltinESMExports()
