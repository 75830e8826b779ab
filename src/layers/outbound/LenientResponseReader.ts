import { maxHeaderBytes, maxHeaderFields, maxInformational, type ResponseFault } from "./ResponseFault.ts"

/** Header fields by lower-case name; the values of a repeated field are an array. */
export type ResponseHeaders = Record<string, string | Array<string> | undefined>

/** Callbacks of one response. `onEnd` or `onFault` ends it, once, unless the reader is stopped. */
export interface LenientResponseHandler {
  /** Status and fields of the final response. */
  readonly onHead: (status: number, headers: ResponseHeaders) => void
  readonly onData: (bytes: Buffer) => void
  readonly onEnd: () => void
  readonly onFault: (fault: ResponseFault) => void
}

/** Bytes of a line that gives the size of a chunk, and of all extensions of a body. */
const maxChunkLineBytes = 4 * 1024
const maxExtensionBytes = 64 * 1024

/** Thirteen hexadecimal digits fit a safe integer. */
const chunkLinePattern = /^[\t ]*0*([0-9a-f]{1,13})[\t ]*(?:;.*)?$/i

/** Beginning of a line that may become the size of a chunk. */
const chunkLineStartPattern = /^[\t ]*[0-9a-f]*[\t ]*(?:[;\r]|$)/i

/** Old servers leave the version away, or answer as SHOUTcast does (`ICY 200 OK`). */
const statusLinePattern = /^[\t ]*(?:HTTP(?:\/\d+(?:\.\d+)?)?|ICY)[\t ]+([1-9]\d\d)(?!\d)/i
const statusLineStartPattern = /^[\t ]*(?:$|HTTP|ICY)/i

/** Characters after which a line either begins like a status line, or is none. */
const statusLineStartLength = 16

const tokenPattern = /^[!#$%&'*+.^_`|~\w-]+$/

/** Control characters except tabs. */
const controlPattern = /[\0-\x08\x0a-\x1f\x7f]/

/**
 * Reads one response as curl and browsers do, for servers whose responses the strict parser refuses.
 *
 * Lines end with LF or CRLF. Fields without a valid name, and values with control characters, are dropped. Folded fields are joined.
 * Transfer-Encoding counts more than Content-Length, and equal Content-Lengths count as one. The size of a chunk may have spaces around
 * it. The body ends with the size of the last chunk, because its connection is closed anyway.
 *
 * The boundary between two responses is uncertain after such a response. The caller must close the connection.
 *
 * @see https://www.rfc-editor.org/rfc/rfc9112
 */
export class LenientResponseReader {
  readonly #handler: LenientResponseHandler
  #state: "head" | "counted" | "untilClose" | "chunkSize" | "chunkData" | "chunkEnd" | "over" = "head"
  #line = ""
  #lines: Array<string> = []
  #headBytes = 0
  #informational = 0
  #extensionBytes = 0
  /** Bytes that are missing of the body, or of the chunk. */
  #missing = 0

  constructor(handler: LenientResponseHandler) {
    this.#handler = handler
  }

  read(bytes: Buffer): void {
    let position = 0
    while (position < bytes.length && this.#state !== "over") {
      position = this.#isInLine() ? this.#readLine(bytes, position) : this.#readData(bytes, position)
    }
  }

  /** The server has closed the connection. */
  end(): void {
    if (this.#state === "over") return
    if (this.#state === "untilClose" || this.#isInLastChunkLine()) return this.#finish()
    this.#fail(this.#isForeign(this.#line) ? "statusLine" : "incomplete")
  }

  /** The size of the last chunk without its LF. Two zeros without CR could be the beginning of another size. */
  #isInLastChunkLine(): boolean {
    return this.#state !== "head" && /^(?:0|0+[\t ]*\r)$/.test(this.#line)
  }

  /** Ends the response without a further callback. */
  stop(): void {
    this.#state = "over"
  }

  #isInLine(): boolean {
    return this.#state === "head" || this.#state === "chunkSize" || this.#state === "chunkEnd"
  }

  #readLine(bytes: Buffer, start: number): number {
    const lineEnd = bytes.indexOf(0x0a, start)
    const end = lineEnd < 0 ? bytes.length : lineEnd
    this.#line += bytes.toString("latin1", start, end)
    if (this.#state === "head") this.#countHeadBytes(Math.min(end + 1, bytes.length) - start)
    else this.#checkChunkLine()
    if (lineEnd < 0 || this.#isOver()) return bytes.length
    const line = this.#line.replace(/\r+$/, "")
    this.#line = ""
    if (this.#state === "head") this.#onHeadLine(line)
    else this.#onChunkLine(line)
    return lineEnd + 1
  }

  #readData(bytes: Buffer, start: number): number {
    const end = this.#state === "untilClose" ? bytes.length : Math.min(bytes.length, start + this.#missing)
    this.#missing -= end - start
    this.#handler.onData(bytes.subarray(start, end))
    if (this.#missing > 0 || this.#isOver() || this.#state === "untilClose") return end
    if (this.#state === "counted") this.#finish()
    else this.#state = "chunkEnd"
    return end
  }

  #countHeadBytes(count: number): void {
    this.#headBytes += count
    if (this.#headBytes > maxHeaderBytes) return this.#fail("headerSize")
    if (this.#line.length >= statusLineStartLength && this.#isForeign(this.#line)) this.#fail("statusLine")
  }

  /** The first line cannot become a status line. */
  #isForeign(line: string): boolean {
    return this.#state === "head" && this.#lines.length === 0 && !statusLineStartPattern.test(line)
  }

  #onHeadLine(line: string): void {
    if (line !== "") {
      if (this.#lines.length === 0 && !statusLinePattern.test(line)) return this.#fail("statusLine")
      this.#lines.push(line)
    } else if (this.#lines.length > 0) {
      this.#onHead(this.#lines)
    }
  }

  #onHead([statusLine = "", ...fieldLines]: ReadonlyArray<string>): void {
    const status = Number(statusLinePattern.exec(statusLine)?.[1])
    this.#lines = []
    this.#headBytes = 0
    if (status === 101) return this.#fail("protocolSwitch")
    if (status < 200) {
      if (++this.#informational > maxInformational) this.#fail("informational")
      return
    }
    const fields = joinFolds(fieldLines)
    if (fields.length > maxHeaderFields) return this.#fail("headerCount")
    const headers = toHeaders(fields)
    if (headers === undefined) return this.#fail("framingField")
    const framing = framingOf(status, headers)
    if (framing === undefined) return this.#fail("contentLengths")
    this.#state = framing.state
    this.#missing = framing.length
    if (!isBodiless(status)) setFramingFields(headers, framing)
    this.#handler.onHead(status, headers)
    if (this.#state === "counted" && this.#missing === 0) this.#finish()
  }

  #checkChunkLine(): void {
    if (this.#line.length > maxChunkLineBytes) this.#fail("chunkLine")
    else if (!chunkLineStartPattern.test(this.#line)) this.#fail("chunkSize")
  }

  /** The line break after a chunk may be missing: the line then is the size of the next chunk. */
  #onChunkLine(line: string): void {
    if (this.#state === "chunkEnd" && line === "") {
      this.#state = "chunkSize"
      return
    }
    const digits = chunkLinePattern.exec(line)?.[1]
    if (digits === undefined) return this.#fail("chunkSize")
    this.#extensionBytes += line.length - digits.length
    if (this.#extensionBytes > maxExtensionBytes) return this.#fail("chunkLine")
    this.#missing = Number.parseInt(digits, 16)
    this.#state = "chunkData"
    if (this.#missing === 0) this.#finish()
  }

  /** A callback may stop the reader. */
  #isOver(): boolean {
    return this.#state === "over"
  }

  #finish(): void {
    this.#state = "over"
    this.#handler.onEnd()
  }

  #fail(fault: ResponseFault): void {
    this.#state = "over"
    this.#handler.onFault(fault)
  }
}

/** Joins the lines of a folded field. */
const joinFolds = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const fields: Array<string> = []
  for (const line of lines) {
    const folded = /^[\t ]/.test(line) ? fields.pop() : undefined
    fields.push(folded === undefined ? line : `${folded.trimEnd()} ${line.trimStart()}`)
  }
  return fields
}

const framingNames: ReadonlySet<string> = new Set(["content-length", "transfer-encoding"])

/** Drops invalid fields; undefined if an invalid value belongs to the framing. */
const toHeaders = (fields: ReadonlyArray<string>): ResponseHeaders | undefined => {
  const headers: ResponseHeaders = Object.create(null)
  for (const field of fields) {
    const colon = field.indexOf(":")
    const name = field.slice(0, Math.max(colon, 0)).replace(/[\t ]+$/, "").toLowerCase()
    const value = field.slice(colon + 1).replace(/^[\t ]+|[\t ]+$/g, "")
    if (!tokenPattern.test(name)) continue
    if (!controlPattern.test(value)) headers[name] = appendValue(headers[name], value)
    else if (framingNames.has(name)) return undefined
  }
  return headers
}

const appendValue = (present: string | Array<string> | undefined, value: string): string | Array<string> => {
  if (present === undefined) return value
  return typeof present === "string" ? [present, value] : [...present, value]
}

const isBodiless = (status: number): boolean => status === 204 || status === 304

interface Framing {
  readonly state: "counted" | "untilClose" | "chunkSize"
  /** Bytes of the body, if counted. */
  readonly length: number
}

/**
 * Framing of the body after RFC 9112, 6.3; undefined for Content-Lengths that differ.
 *
 * A Content-Length that is no number is ignored, as browsers do.
 */
const framingOf = (status: number, headers: ResponseHeaders): Framing | undefined => {
  if (isBodiless(status)) return { state: "counted", length: 0 }
  const codings = listOf(headers["transfer-encoding"]).filter((coding) => coding.toLowerCase() !== "identity")
  if (codings.length > 0) {
    return { state: codings.at(-1)?.toLowerCase() === "chunked" ? "chunkSize" : "untilClose", length: 0 }
  }
  const [length, ...others] = new Set(
    listOf(headers["content-length"]).filter((item) => /^\d+$/.test(item)).map(Number)
  )
  if (others.length > 0) return undefined
  return length === undefined ? { state: "untilClose", length: 0 } : { state: "counted", length }
}

/** Leaves only the field that frames the body, because callers derive size and completeness from these fields. */
const setFramingFields = (headers: ResponseHeaders, { length, state }: Framing): void => {
  delete headers["content-length"]
  delete headers["transfer-encoding"]
  if (state === "counted") headers["content-length"] = String(length)
  if (state === "chunkSize") headers["transfer-encoding"] = "chunked"
}

const listOf = (values: string | ReadonlyArray<string> | undefined): ReadonlyArray<string> =>
  [values ?? []].flat().join(",").split(",").map((item) => item.trim()).filter((item) => item !== "")
