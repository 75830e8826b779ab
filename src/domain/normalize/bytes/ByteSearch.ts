/** Bytes as whole words, four bytes each; `head` bytes stand before the first, and up to three behind the last. */
export interface AlignedWords {
  readonly words: Int32Array
  readonly head: number
}

/** A view may begin at any byte, its words may not. */
export const alignWords = (bytes: Uint8Array): AlignedWords => {
  const head = -bytes.byteOffset & 3
  return bytes.length < head
    ? { words: new Int32Array(), head: bytes.length }
    : { words: new Int32Array(bytes.buffer, bytes.byteOffset + head, (bytes.length - head) >> 2), head }
}

/**
 * Finds a byte, four at a time.
 *
 * For the short ways between tags that is several times faster than `Uint8Array.indexOf`, and not slower on long ones.
 */
export class ByteSearch {
  private readonly bytes: Uint8Array
  private readonly words: Int32Array
  private readonly head: number

  constructor(bytes: Uint8Array) {
    this.bytes = bytes
    const { words, head } = alignWords(bytes)
    this.words = words
    this.head = head
  }

  /** Where the byte stands next, at `from` or behind; -1 for nowhere. */
  find(byte: number, from: number): number {
    const { bytes, words, head } = this
    let at = from
    for (; at < bytes.length && ((at - head) & 3) !== 0; at++) if (bytes[at] === byte) return at
    const pattern = byte * 0x01010101
    let word = Math.max(0, (at - head) >> 2)
    // Not zero where a byte is that of the pattern.
    for (; word < words.length; word++) {
      const difference = (words[word] ?? 0) ^ pattern
      if (((difference - 0x01010101) & ~difference & 0x80808080) !== 0) break
    }
    for (at = Math.max(at, head + 4 * word); at < bytes.length; at++) if (bytes[at] === byte) return at
    return -1
  }
}
