import * as fs from "node:fs"
import * as path from "node:path"
import { promisify } from "node:util"
import * as zlib from "node:zlib"

/**
 * Archive of a database cluster with the schema. It saves initdb and the migrations at the first start: six seconds.
 *
 * `scripts/embedded-template.ts` makes it with the version of PGlite in package.json.
 */
const template = path.join(import.meta.dirname, "template.tar.zst")

/** Bytes of a tar block. */
const blockSize = 512

/** Chunk size of the decompressor, larger than the archive: concatenation would take longer than decompression. */
const chunkSize = 32 << 20

/** The archive in the checkout differs from the released one. */
export class DamagedTemplate extends Error {
  override readonly name = "DamagedTemplate"

  constructor(cause: unknown) {
    super(`The archive ${template} is damaged (${String(cause)}). Check Windhover out anew; no data are lost.`, {
      cause
    })
  }
}

const decompress = (packed: Buffer): Promise<Buffer> =>
  promisify(zlib.zstdDecompress)(packed, { chunkSize }).catch((cause) => Promise.reject(new DamagedTemplate(cause)))

/**
 * Unpacks the template as `target`, which must not exist. After a failure or a power cut, `target` does not exist.
 *
 * Rejects with an error of the file system or a `DamagedTemplate`.
 */
export const unpackTemplate = async (target: string): Promise<void> => {
  const partial = `${target}.partial`
  await fs.promises.rm(partial, { recursive: true, force: true })
  const entries = [...readArchive(await decompress(await fs.promises.readFile(template)))]
  const directories = entries.filter((entry) => entry.directory).map((entry) => path.join(partial, entry.name))
  for (const directory of directories) fs.mkdirSync(directory, { mode: 0o700, recursive: true })
  const files = entries.filter((entry) => !entry.directory)
  // Synchronous calls take half the time, and the thread has no other work. Only the syncs run concurrently.
  for (const { content, name } of files) {
    fs.writeFileSync(path.join(partial, name), content, { flag: "wx", mode: 0o600 })
  }
  await Promise.all(files.map((file) => syncFile(path.join(partial, file.name))))
  for (const directory of directories) await syncFile(directory)
  await fs.promises.rename(partial, target)
  await syncFile(path.dirname(target))
}

interface TarEntry {
  readonly name: string
  readonly directory: boolean
  readonly content: Uint8Array
}

/** Entries of our own ustar archive: only files and directories, with names under 100 characters. */
function* readArchive(archive: Buffer): Generator<TarEntry> {
  for (let at = 0; archive[at] !== undefined && archive[at] !== 0;) {
    const name = archive.toString("latin1", at, archive.indexOf(0, at))
    const size = Number.parseInt(archive.toString("latin1", at + 124, at + 135), 8)
    const directory = archive[at + 156] === 0x35
    at += blockSize
    yield { name, directory, content: archive.subarray(at, at + size) }
    at += Math.ceil(size / blockSize) * blockSize
  }
}

/** Waits until a file, or the list of files of a directory, is on the disk. */
const syncFile = async (file: string): Promise<void> => {
  const handle = await fs.promises.open(file, "r")
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
