import * as fs from "node:fs"

/** Writes the names of a directory to the disk, so that a new or renamed file outlives a power failure. */
export const syncDirectory = (directory: string): void => {
  const descriptor = fs.openSync(directory, "r")
  try {
    fs.fsyncSync(descriptor)
  } finally {
    fs.closeSync(descriptor)
  }
}
