import type { DatabaseSync } from "node:sqlite"

/**
 * Returns free memory in the pools of the C library to the system (`malloc_trim`). Stops the thread for 0.03 to 0.1 s after a start, and
 * others while they need memory of the same pool.
 *
 * The GNU library returns only the end of a pool by itself. A start leaves 30 MB of holes between the blocks that stay: compilers, code
 * caches and messages between the threads had this memory. Node has no call for it, but SQLite calls a function of a library by its name,
 * as the initialization of an extension, and expects an integer as the result. The parameter is the address of the database, which
 * `malloc_trim` takes for the number of bytes to keep at the end of the main pool. The end stays, and only holes are returned.
 *
 * Nothing happens where the library or the function is missing, and where Node has no SQLite or refuses extensions (`--permission`).
 */
export const trimPools = (): void => {
  const sqlite = process.getBuiltinModule("node:sqlite")
  if (sqlite === undefined) return
  let database: DatabaseSync | undefined
  try {
    database = new sqlite.DatabaseSync(":memory:", { allowExtension: true })
    database.loadExtension("libc.so.6", "malloc_trim")
  } catch {
    // The result 1 means that memory was returned. For SQLite this is an error.
  } finally {
    database?.close()
  }
}
