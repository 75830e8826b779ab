/**
 * Loaded into a process before everything else (`NODE_OPTIONS=--import …`): its disk is full as long as the file that `FULL_DISK` names says so.
 *
 * A file system of a few megabytes would need root to be mounted. This one refuses what the embedded database writes by `fs.writeSync`, which is all it
 * writes: with `grow` in the file what would make a file longer, as a disk without a free block does; with `copy` whatever is written to the log,
 * as a file system does that takes new blocks for what it overwrites (Btrfs, ZFS, thin volumes).
 */
import fs from "node:fs"
import { syncBuiltinESMExports } from "node:module"

const mark = process.env["FULL_DISK"] ?? ""
const { writeSync } = fs

/** What `fs.writeSync` takes from PGlite. */
type Write = readonly [fd: number, bytes: NodeJS.ArrayBufferView, offset: number, length: number, position: number]

const refused = ([fd, , , length, position]: Write): boolean => {
  const file = fs.readlinkSync(`/proc/self/fd/${fd}`)
  if (!file.includes("/database/")) return false
  switch (fullness()) {
    case "copy":
      return file.includes("/pg_wal/")
    case "grow":
      return position + length > fs.fstatSync(fd).size
    default: // or it is being written
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
