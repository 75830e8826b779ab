/** Bytes as words of four bytes. `head` bytes come before the first word, and up to three bytes behind the last. */
export interface AlignedWords {
  readonly words: Int32Array
  readonly head: number
}

/** Aligns words within the bytes, because a word can only begin at a multiple of four. */
export const alignWords = (bytes: Uint8Array): AlignedWords => {
  const head = -bytes.byteOffset & 3
  return bytes.length < head
    ? { words: new Int32Array(), head: bytes.length }
    : { words: new Int32Array(bytes.buffer, bytes.byteOffset + head, (bytes.length - head) >> 2), head }
}

/**
 * Finds a byte by comparing four bytes at a time.
 *
 * Over the short distances between tags, several times faster than `Uint8Array.indexOf`. Not slower over long distances.
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

  /** The next position of the byte, at `from` or behind; -1 without a match. */
  find(byte: number, from: number): number {
    const { bytes, words, head } = this
    let at = from
    for (; at < bytes.length && ((at - head) & 3) !== 0; at++) if (bytes[at] === byte) return at
    const pattern = byte * 0x01010101
    let word = Math.max(0, (at - head) >> 2)
    // The expression is not zero where a byte equals the pattern.
    for (; word < words.length; word++) {
      const difference = (words[word] ?? 0) ^ pattern
      if (((difference - 0x01010101) & ~difference & 0x80808080) !== 0) break
    }
    for (at = Math.max(at, head + 4 * word); at < bytes.length; at++) if (bytes[at] === byte) return at
    return -1
  }
}
