import { JsonListReader } from "./JsonListReader.ts"
import type { ListLine, ListReader } from "./ListLine.ts"
import { NdjsonReader } from "./NdjsonReader.ts"
import { OpmlReader } from "./OpmlReader.ts"
import { UrlListReader } from "./UrlListReader.ts"

type Decoder = InstanceType<typeof TextDecoder>

/** Bytes at the beginning by which encoding and format are known. White space before them is not counted. */
const maxSniffed = 1_024

/** A key by which a JSON object is a list. Other objects are lines. */
const listObject = /^\{\s*"(?:subscriptions|feeds|meta)"\s*:/

/**
 * A list in one of the known formats, read from its bytes piece by piece: OPML, a JSON list, JSON lines, URLs or CSV.
 *
 * The first sign tells the format: `<` OPML, `[` or a known key a JSON list, `{` JSON lines. Everything else is text.
 */
export class ListDocument {
  #head: Uint8Array | undefined = new Uint8Array()
  #decoder: Decoder | undefined
  /** Text without a known format. */
  #text = ""
  #reader: ListReader | undefined

  push(bytes: Uint8Array): ReadonlyArray<ListLine> {
    if (this.#head === undefined) return this.#read(this.#decode(bytes))
    this.#head = join(this.#head, bytes)
    return this.#head.length < maxSniffed ? [] : this.#start(this.#head, false)
  }

  end(): ReadonlyArray<ListLine> {
    const lines = this.#head === undefined ? [] : this.#start(this.#head, true)
    const rest = this.#read(this.#decoder?.decode() ?? "", true)
    return [...lines, ...rest, ...this.#reader?.end() ?? []]
  }

  #start(head: Uint8Array, isWhole: boolean): ReadonlyArray<ListLine> {
    this.#head = undefined
    this.#decoder = decoderOf(head)
    return this.#read(this.#decode(head), isWhole)
  }

  #decode(bytes: Uint8Array): string {
    return this.#decoder?.decode(bytes, { stream: true }) ?? ""
  }

  #read(text: string, isWhole = false): ReadonlyArray<ListLine> {
    if (this.#reader === undefined) {
      this.#text += text
      const begun = this.#text.trimStart()
      if (begun.length < maxSniffed / 4 && !isWhole) {
        if (begun === "") this.#text = this.#text.slice(-maxSniffed)
        return []
      }
      this.#reader = readerOf(begun)
      text = this.#text
      this.#text = ""
    }
    return this.#reader.push(text)
  }
}

const join = (a: Uint8Array, b: Uint8Array): Uint8Array => {
  const joined = new Uint8Array(a.length + b.length)
  joined.set(a)
  joined.set(b, a.length)
  return joined
}

const readerOf = (begun: string): ListReader => {
  if (begun.startsWith("<")) return new OpmlReader()
  if (begun.startsWith("[") || listObject.test(begun)) return new JsonListReader()
  return begun.startsWith("{") ? new NdjsonReader() : new UrlListReader()
}

/** By the byte order mark, else by the XML declaration, else UTF-8. */
const decoderOf = (head: Uint8Array): Decoder => {
  const [first, second] = head
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le")
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be")
  const declared = /^\s*<\?xml[^>]*\sencoding\s*=\s*["']([\w.:-]{1,40})["']/.exec(
    String.fromCharCode(...head.subarray(0, 256))
  )?.[1]
  try {
    return new TextDecoder(declared)
  } catch {
    return new TextDecoder() // an unknown name: nearly all lists are in UTF-8
  }
}
