import {
  chmodSync,
  closeSync,
  copyFileSync,
  cpSync,
  lstatSync,
  lutimesSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync
} from "node:fs"
import { dirname, join, relative } from "node:path"

/** Writes a file below new directories. */
export const write = (file: string, content: string): void => {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, content)
}

/** Copies a file or a directory below new directories. */
export const copy = (from: string, to: string): void => {
  mkdirSync(dirname(to), { recursive: true })
  if (lstatSync(from).isDirectory()) cpSync(from, to, { recursive: true })
  else copyFileSync(from, to)
}

/** Paths of all files below a directory, relative and sorted. */
export const listFiles = (directory: string): ReadonlyArray<string> =>
  readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)))
    .toSorted()

/** Removes the files that `isSuperfluous`, and directories that are empty then. */
export const prune = (directory: string, isSuperfluous: (path: string) => boolean): void => {
  const visit = (inner: string): boolean => {
    let isEmpty = true
    for (const entry of readdirSync(join(directory, inner), { withFileTypes: true })) {
      const path = join(inner, entry.name)
      const isGone = isSuperfluous(path) || (entry.isDirectory() && visit(path))
      if (isGone) rmSync(join(directory, path), { recursive: true })
      else isEmpty = false
    }
    return isEmpty
  }
  visit("")
}

/** True for a script or a program of Linux that its owner may execute. Some npm packages have executable texts. */
const isProgram = (file: string): boolean => {
  if ((lstatSync(file).mode & 0o100) === 0) return false
  const descriptor = openSync(file, "r")
  const beginning = Buffer.alloc(4)
  readSync(descriptor, beginning)
  closeSync(descriptor)
  return /^(?:#!|\u007fELF)/.test(beginning.toString("latin1"))
}

/** Gives all files the modes of a package, whatever the umask: readable for all, and executable for programs. */
export const normalizeModes = (directory: string): void => {
  chmodSync(directory, 0o755)
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isSymbolicLink()) continue
    chmodSync(path, entry.isDirectory() || isProgram(path) ? 0o755 : 0o644)
  }
}

/** Gives all files and directories one time, in epoch seconds. */
export const setTimes = (directory: string, epoch: number): void => {
  for (const path of ["", ...readdirSync(directory, { recursive: true, encoding: "utf8" })]) {
    lutimesSync(join(directory, path), epoch, epoch)
  }
}

export const readJson = (file: string): Record<string, unknown> => JSON.parse(readFileSync(file, "utf8"))
