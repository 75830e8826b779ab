import { Effect } from "effect"
import { connect, type Socket } from "node:net"

/** A response from the wire. */
export interface RawAnswer {
  readonly status: number
  /** Headers by lower-case names; repeated headers are joined by ", ". */
  readonly headers: ReadonlyMap<string, string>
  readonly body: string
}

/** A connection for arbitrary bytes. */
export interface RawConnection {
  readonly send: (bytes: string | Uint8Array) => Effect.Effect<void>
  /** The next response; pass `bodiless` after HEAD. Fails when the server closes the connection before. */
  readonly receive: (bodiless?: boolean) => Effect.Effect<RawAnswer>
  /** The header of a response with an endless body, whose lines `receiveLines` returns. */
  readonly receiveHead: Effect.Effect<RawAnswer>
  /** The next lines of that body, decoded from chunks. Fails when the server closes the connection before. */
  readonly receiveLines: (count: number) => Effect.Effect<ReadonlyArray<string>>
  /** Stops reading, so that bytes pile up in the server, until `goOn`. */
  readonly pause: Effect.Effect<void>
  readonly goOn: Effect.Effect<void>
  /** Resolves when the server has closed the connection. */
  readonly closed: Effect.Effect<void>
  readonly isClosed: () => boolean
}

/** Opens a connection that closes with the test's scope. */
export const open = Effect.fnUntraced(function*(port: number) {
  const socket = yield* Effect.acquireRelease(
    Effect.callback<Socket>((resume) => {
      const socket = connect({ port, host: "127.0.0.1" }, () => resume(Effect.succeed(socket)))
    }),
    (socket) => Effect.sync(() => socket.destroy())
  )
  let buffered = Buffer.alloc(0)
  let ended = false
  const waiting = new Set<() => void>()
  const wake = () => {
    for (const look of waiting) look()
  }
  socket.on("data", (chunk) => {
    buffered = Buffer.concat([buffered, chunk])
    wake()
  })
  const end = () => {
    ended = true
    wake()
  }
  socket.on("end", end).on("close", end).on("error", end)

  /** Calls `look` after each read, until the result is defined. */
  const until = <A>(look: () => A | undefined): Effect.Effect<A> =>
    Effect.callback<A>((resume) => {
      const attempt = () => {
        const found = look()
        if (found === undefined) return
        waiting.delete(attempt)
        resume(Effect.succeed(found))
      }
      waiting.add(attempt)
      attempt()
      return Effect.sync(() => void waiting.delete(attempt))
    })

  const receive = (bodiless = false) =>
    Effect.flatMap(
      until(() => {
        const found = readAnswer(buffered, bodiless, ended)
        if (found === undefined) return ended ? "closed" as const : undefined
        buffered = buffered.subarray(found.length)
        return found.answer
      }),
      (answer) => answer === "closed" ? Effect.die(new Error("closed before an answer came")) : Effect.succeed(answer)
    )

  const orClosed = <A>(look: () => A | undefined): Effect.Effect<A> =>
    Effect.flatMap(
      until(() => look() ?? (ended ? "closed" as const : undefined)),
      (found) => found === "closed" ? Effect.die(new Error("closed before all had come")) : Effect.succeed(found)
    )

  const receiveHead = orClosed(() => {
    const end = buffered.indexOf("\r\n\r\n")
    if (end < 0) return undefined
    const found = readAnswer(buffered.subarray(0, end + 4), true, false)
    buffered = buffered.subarray(end + 4)
    return found?.answer
  })

  let text = ""
  const receiveLines = (count: number) =>
    orClosed(() => {
      for (let chunk = nextChunk(buffered); chunk !== undefined; chunk = nextChunk(buffered)) {
        text += chunk.body.toString()
        buffered = buffered.subarray(chunk.length)
      }
      const lines = text.split("\n")
      if (lines.length <= count) return undefined
      text = lines.slice(count).join("\n")
      return lines.slice(0, count)
    })

  const connection: RawConnection = {
    send: (bytes) => Effect.sync(() => void socket.write(bytes)),
    receive,
    receiveHead,
    receiveLines,
    pause: Effect.sync(() => void socket.pause()),
    goOn: Effect.sync(() => void socket.resume()),
    closed: Effect.asVoid(until(() => ended ? true : undefined)),
    isClosed: () => ended
  }
  return connection
})

/** The first complete response in the bytes, and its length. */
const readAnswer = (bytes: Buffer, bodiless: boolean, ended: boolean) => {
  const end = bytes.indexOf("\r\n\r\n")
  if (end < 0) return undefined
  const [line = "", ...fields] = bytes.toString("latin1", 0, end).split("\r\n")
  const status = Number(line.split(" ", 2)[1])
  const headers = new Map<string, string>()
  for (const field of fields) {
    const colon = field.indexOf(":")
    const name = field.slice(0, colon).toLowerCase()
    const value = field.slice(colon + 1).trim()
    headers.set(name, headers.has(name) ? `${headers.get(name)}, ${value}` : value)
  }
  const start = end + 4
  const found = (body: Buffer, length: number) => ({ answer: { status, headers, body: body.toString() }, length })
  if (bodiless || status === 204 || status === 304 || status < 200) return found(Buffer.alloc(0), start)
  if (headers.get("transfer-encoding") === "chunked") return readChunks(bytes, start, found)
  const announced = headers.get("content-length")
  if (announced === undefined) return ended ? found(bytes.subarray(start), bytes.length) : undefined
  const stop = start + Number(announced)
  return bytes.length < stop ? undefined : found(bytes.subarray(start, stop), stop)
}

const readChunks = <A>(bytes: Buffer, start: number, found: (body: Buffer, length: number) => A): A | undefined => {
  const chunks: Array<Buffer> = []
  for (let at = start;;) {
    const chunk = nextChunk(bytes.subarray(at))
    if (chunk === undefined) return undefined
    at += chunk.length
    if (chunk.body.length === 0) return found(Buffer.concat(chunks), at)
    chunks.push(chunk.body)
  }
}

/** The first complete chunk; the last chunk is empty. */
const nextChunk = (bytes: Buffer): { readonly body: Buffer; readonly length: number } | undefined => {
  const end = bytes.indexOf("\r\n")
  if (end < 0) return undefined
  const size = Number.parseInt(bytes.toString("latin1", 0, end), 16)
  const length = end + 2 + size + 2
  return bytes.length < length ? undefined : { body: bytes.subarray(end + 2, end + 2 + size), length }
}
