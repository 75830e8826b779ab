/**
 * Bytes and nodes of a document whose tree is kept, at most: some 60 MB. An element of parse5 takes up to 0.9 kB (Node 24), each character of a
 * long text or attribute 33 bytes until somebody reads it. The bytes alone say little of the tree: it has 240 times as many for `<p><p>…`, and
 * there is no bound where elements are opened again and again (`<p><b a=1><b a=2>…<p>x<p>x…`).
 */
const maxBytes = 1024 * 1024
const maxNodes = 30_000

/** Milliseconds after which a tree is let go of, however often it is asked for: answers to a shared fetch are kept for as long. */
const patience = 10_000

/** Takes the tree from the kind that keeps one: all of them together keep one at most. */
let letGo = (): void => undefined

interface CachedTree<Tree> {
  readonly bytes: Uint8Array
  /** How the bytes are to be read: by another charset they are another document. */
  readonly reading: string
  readonly tree: Tree
}

/**
 * The trees of one kind of documents. The last one of any kind is kept for the other fragments of the same page, if it is small.
 *
 * It goes before another one is built, so that a document has the whole memory of the thread, whatever came before it.
 *
 * Documents are compared byte for byte: a hash of the kind that is quick can be met on purpose, and strangers' documents would stand for each
 * other's. Whoever selects must not change the tree.
 */
export class TreeCache<Tree> {
  readonly #build: (bytes: Uint8Array, reading: string) => Tree
  readonly #isSmall: (tree: Tree) => boolean
  #kept: CachedTree<Tree> | undefined

  constructor(build: (bytes: Uint8Array, reading: string) => Tree, isSmall: (tree: Tree) => boolean) {
    this.#build = build
    this.#isSmall = isSmall
  }

  get(bytes: Uint8Array, reading: string): Tree {
    if (!this.#keeps(bytes, reading)) letGo()
    return this.#kept?.tree ?? this.#built(bytes, reading)
  }

  #keeps(bytes: Uint8Array, reading: string): boolean {
    const kept = this.#kept
    return kept !== undefined && kept.reading === reading && Buffer.compare(kept.bytes, bytes) === 0
  }

  #built(bytes: Uint8Array, reading: string): Tree {
    const tree = this.#build(bytes, reading)
    if (bytes.length <= maxBytes && this.#isSmall(tree)) this.#keep({ bytes, reading, tree })
    return tree
  }

  #keep(one: CachedTree<Tree>): void {
    const timer = setTimeout(() => letGo(), patience).unref()
    this.#kept = one
    letGo = () => {
      clearTimeout(timer)
      this.#kept = undefined
    }
  }
}

/** Whether a tree has few enough nodes to be kept. It looks at no more of them than that. */
export const hasFewNodes = <Node>(roots: ReadonlyArray<Node>, within: (node: Node) => Iterable<Node>): boolean => {
  const found = [...roots]
  // what is put in on the way is come to in its turn
  for (const node of found) {
    for (const inner of within(node)) {
      if (found.push(inner) > maxNodes) return false
    }
  }
  return true
}
