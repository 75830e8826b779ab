import { Stream } from "effect"
import { ListDocument } from "#domain/transfer/ListDocument.ts"
import type { ListLine } from "#domain/transfer/ListLine.ts"
import { maxListBytes, maxListLines } from "./Import.ts"

/** Bytes that are read at once. */
const pieceBytes = 64 * 1024

interface ListLimits {
  readonly maxBytes: number
  readonly maxLines: number
}

const defaultLimits: ListLimits = { maxBytes: maxListBytes, maxLines: maxListLines }

/** The lines of a list up to its first fault. Each piece of bytes is read alone, so that other requests have their turns. */
export const readLines = <E>(
  bytes: Stream.Stream<Uint8Array, E>,
  count: (length: number) => void,
  { maxBytes, maxLines }: ListLimits = defaultLimits
): Stream.Stream<ListLine, E> => {
  const document = new ListDocument()
  let read = 0
  let lines = 0
  const limitLines = (line: ListLine): ListLine =>
    ++lines > maxLines ? { _tag: "Fault", line: line.line, reason: tooMany(maxLines, "lines") } : line
  const readPiece = (piece: Uint8Array): Iterable<ListLine> => {
    read += piece.length
    count(piece.length)
    return read > maxBytes ? [{ _tag: "Fault", line: lines, reason: tooMany(maxBytes, "bytes") }] : document.push(piece)
  }
  return Stream.concat(
    bytes.pipe(
      Stream.flatMap((chunk) => Stream.fromIterable(piecesOf(chunk), { chunkSize: 1 })),
      Stream.map(readPiece)
    ),
    Stream.suspend(() => Stream.succeed<Iterable<ListLine>>(document.end()))
  ).pipe(
    Stream.flattenIterable,
    Stream.map(limitLines),
    Stream.takeUntil(({ _tag }) => _tag === "Fault")
  )
}

const tooMany = (limit: number, what: string): string =>
  `The list has more than ${limit} ${what}. The lines before are imported; split the list.`

const piecesOf = (chunk: Uint8Array): ReadonlyArray<Uint8Array> =>
  Array.from(
    { length: Math.ceil(chunk.length / pieceBytes) },
    (_, i) => chunk.subarray(i * pieceBytes, (i + 1) * pieceBytes)
  )
