/**
 * Bounds of a cached tree, about 60 MB together.
 *
 * An element of parse5 takes up to 0.9 kB (Node 24). Each character of a long text or attribute takes 33 bytes until the first access. The
 * document's size says little about its tree: `<p><p>…` takes 240 times its size, and reopened elements (`<p><b a=1><b a=2>…<p>x<p>x…`)
 * have no bound.
 */
const maxTreeBytes = 1024 * 1024
const maxTreeNodes = 30_000

/** Lifetime of a cached tree, regardless of its use: as long as coalesced fetches keep a response. */
const treeTtlMs = 10_000

/** Drops the cached tree. All caches together keep one tree. */
let dropCached = (): void => undefined

interface CachedTree<Tree> {
  readonly bytes: Uint8Array
  /** The charset and other settings of the parser: a document read in another way is another document. */
  readonly reading: string
  readonly tree: Tree
}

/**
 * Caches the last small tree for further fragments of the same page.
 *
 * The cache is emptied before another tree is built, so that each document has the thread's whole memory.
 *
 * Documents are compared byte for byte. A fast hash could be forged, and one page could then stand for another. Selections must not change
 * the tree.
 */
export class TreeCache<Tree> {
  readonly #build: (bytes: Uint8Array, reading: string) => Tree
  readonly #isSmall: (tree: Tree) => boolean
  #cached: CachedTree<Tree> | undefined

  constructor(build: (bytes: Uint8Array, reading: string) => Tree, isSmall: (tree: Tree) => boolean) {
    this.#build = build
    this.#isSmall = isSmall
  }

  get(bytes: Uint8Array, reading: string): Tree {
    const cached = this.#cached
    if (cached !== undefined && cached.reading === reading && Buffer.compare(cached.bytes, bytes) === 0) {
      return cached.tree
    }
    dropCached()
    const tree = this.#build(bytes, reading)
    if (bytes.length <= maxTreeBytes && this.#isSmall(tree)) this.#store({ bytes, reading, tree })
    return tree
  }

  #store(cached: CachedTree<Tree>): void {
    const timer = setTimeout(() => dropCached(), treeTtlMs).unref()
    this.#cached = cached
    dropCached = () => {
      clearTimeout(timer)
      this.#cached = undefined
    }
  }
}

/** Whether a tree has few enough nodes for the cache. Visits no more nodes than the maximum. */
export const hasFewNodes = <Node>(
  roots: ReadonlyArray<Node>,
  childrenOf: (node: Node) => Iterable<Node>
): boolean => {
  const found = [...roots]
  // The loop also visits the nodes that it appends.
  for (const node of found) {
    for (const child of childrenOf(node)) {
      if (found.push(child) > maxTreeNodes) return false
    }
  }
  return true
}
