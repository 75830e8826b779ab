/** Bytes of the documents whose trees are kept, together: a tree takes ten times as much, and there are three kinds of them. */
const maxBytes = 2 * 1024 * 1024

/** Milliseconds for which nobody asks, after which they are let go of: answers to a shared fetch are kept for as long. */
const patience = 10_000

interface Kept<Tree> {
  readonly bytes: Uint8Array
  /** How the bytes are to be read: by another charset they are another document. */
  readonly reading: string
  readonly tree: Tree
}

/**
 * The trees of the documents that were asked for last, for the other fragments of the same pages.
 *
 * Documents are compared byte for byte: a hash of the kind that is quick can be met on purpose, and strangers' documents would stand for each
 * other's. Whoever selects must not change the tree.
 */
export class Trees<Tree> {
  readonly #build: (bytes: Uint8Array, reading: string) => Tree
  /** The one asked for last comes last. */
  #kept: ReadonlyArray<Kept<Tree>> = []
  #timer: NodeJS.Timeout | undefined

  constructor(build: (bytes: Uint8Array, reading: string) => Tree) {
    this.#build = build
  }

  of(bytes: Uint8Array, reading: string): Tree {
    const known = this.#kept.find((one) => one.reading === reading && Buffer.compare(one.bytes, bytes) === 0)
    const one = known ?? { bytes, reading, tree: this.#build(bytes, reading) }
    this.#kept = fitting([...this.#kept.filter((other) => other !== known), one])
    clearTimeout(this.#timer)
    this.#timer = setTimeout(() => void (this.#kept = []), patience).unref()
    return one.tree
  }
}

/** The last ones of them that have room together; one that is larger than the room takes none of it. */
const fitting = <Tree>(all: ReadonlyArray<Kept<Tree>>): ReadonlyArray<Kept<Tree>> => {
  let room = maxBytes
  return all.toReversed().filter(({ bytes }) => {
    const fits = bytes.length <= room
    if (fits) room -= bytes.length
    return fits
  }).toReversed()
}
