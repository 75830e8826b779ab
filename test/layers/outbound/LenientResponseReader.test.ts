import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import { LenientResponseReader } from "#layers/outbound/LenientResponseReader.ts"
import type { ResponseFault } from "#layers/outbound/ResponseFault.ts"

interface Result {
  status?: number
  headers?: Readonly<Record<string, unknown>>
  body: string
  end?: "complete" | ResponseFault
}

/** Reads the parts, then the end of the connection unless `isOpen`. */
const readAll = (parts: ReadonlyArray<string>, isOpen = false): Result => {
  const result: Result = { body: "" }
  const settle = (end: "complete" | ResponseFault) => {
    assert.isUndefined(result.end)
    result.end = end
  }
  const reader = new LenientResponseReader({
    onHead: (status, headers) => {
      assert.isUndefined(result.status)
      result.status = status
      result.headers = { ...headers }
    },
    onData: (bytes) => {
      assert.isAbove(bytes.length, 0)
      result.body += bytes.toString("latin1")
    },
    onEnd: () => settle("complete"),
    onFault: settle
  })
  for (const part of parts) reader.read(Buffer.from(part, "latin1"))
  if (!isOpen) reader.end()
  return result
}

const read = (text: string, isOpen = false) => readAll([text], isOpen)

/** A complete response over an open connection, as body. */
const bodyOf = (text: string): string => {
  const { body, end } = read(text, true)
  assert.strictEqual(end, "complete")
  return body
}

const ok = "HTTP/1.1 200 OK\r\n"
const chunked = `${ok}Transfer-Encoding: chunked\r\n\r\n`

describe("LenientResponseReader", () => {
  it("reads status lines of old servers", () => {
    const lines = {
      "HTTP/1.1 200 OK": 200,
      "HTTP/1.0 404": 404,
      "http/1.1 200 ok": 200,
      "HTTP/1.1  301  Moved": 301,
      "HTTP/1.1\t200\tOK": 200,
      "HTTP/1.1 200OK": 200,
      "HTTP/2 503 x": 503,
      "HTTP/1.2 200 OK": 200,
      "HTTP 200 OK": 200,
      "ICY 200 OK": 200,
      "HTTP/1.1 999 Request denied": 999,
      "\r\n\n HTTP/1.1 200 OK": 200
    }
    for (const [line, status] of Object.entries(lines)) {
      assert.deepStrictEqual(read(`${line}\r\n\r\nbody`), { status, headers: {}, body: "body", end: "complete" }, line)
    }
  })

  it("refuses anything else as status line, at once", () => {
    const lines = [
      "220 mail.example ESMTP",
      "SSH-2.0-OpenSSH_9",
      "HTTP/1.1 20 OK",
      "HTTP/1.1 2000",
      "HTTP/1.1 099 x",
      "HTTPS/1.1 200"
    ]
    for (const line of lines) assert.strictEqual(read(`${line}\r\n`, true).end, "statusLine", line)
    assert.strictEqual(read("<!doctype html><html>", true).end, "statusLine")
    assert.strictEqual(read("\0\0\0").end, "statusLine")
    assert.strictEqual(read("HTTP/1.1 20").end, "incomplete")
    assert.strictEqual(read("").end, "incomplete")
  })

  it("drops invalid fields, and joins folded ones", () => {
    const { body, headers } = read(
      `${ok}A: 1\r\nSet-Cookie: a=\x01b\r\nX Y: 2\r\nNo colon\r\n: empty\r\nX-\xe9: 3\r\nN: a\0b\r\n` +
        "Bare: a\rb\r\nSpace \t:\t 4 \t\r\nFold: a\r\n  b\r\n\tc\r\nPlace: Z\xfcrich\r\nTab: a\tb\r\nA: 5\r\nA:\r\n\r\nx"
    )
    assert.deepStrictEqual(headers, {
      a: ["1", "5", ""],
      space: "4",
      fold: "a b c",
      place: "Z\xfcrich",
      tab: "a\tb"
    })
    assert.strictEqual(body, "x")
  })

  it("leaves the prototype of objects alone", () => {
    const { headers } = read(`${ok}__proto__: x\r\nconstructor: y\r\n\r\n`)
    assert.strictEqual(headers?.["constructor"], "y")
    assert.isUndefined(Reflect.get({}, "x"))
  })

  it("ends lines with LF or CRLF", () => {
    assert.strictEqual(bodyOf("HTTP/1.1 200 OK\nContent-Length: 2\n\nok"), "ok")
    assert.strictEqual(bodyOf("HTTP/1.1 200 OK\r\nContent-Length: 2\n\r\nok"), "ok")
    assert.strictEqual(bodyOf("HTTP/1.1 200 OK\nContent-Length: 2\r\r\n\r\r\nok"), "ok")
  })

  it("takes the length of the body from chunks, then from Content-Length, then from the end of the connection", () => {
    const framed = (fields: string, body: string) => bodyOf(`${ok}${fields}\r\n\r\n${body}`)
    assert.strictEqual(framed("Content-Length: 9\r\nTransfer-Encoding: chunked", "2\r\nok\r\n0\r\n\r\n"), "ok")
    assert.strictEqual(framed("Transfer-Encoding: chunked\r\nContent-Length: 0", "2\r\nok\r\n0\r\n\r\n"), "ok")
    assert.strictEqual(framed("Transfer-Encoding: identity, CHUNKED", "2\r\nok\r\n0\r\n\r\n"), "ok")
    assert.strictEqual(framed("Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked", "2\r\nok\r\n0\r\n\r\n"), "ok")
    assert.strictEqual(framed("Transfer-Encoding: identity\r\nContent-Length: 2", "ok"), "ok")
    assert.strictEqual(framed("Transfer-Encoding:\r\nContent-Length: 2", "ok"), "ok")
    assert.strictEqual(framed("Content-Length: 2\r\nContent-Length: 02", "ok"), "ok")
    assert.strictEqual(framed("Content-Length: 2, 2,2", "ok"), "ok")
    assert.strictEqual(framed("Content-Length: 0", ""), "")
    for (const fields of ["", "Content-Length: \r\n", "Content-Length: -1\r\n", "Content-Length: many\r\n"]) {
      assert.isUndefined(read(`${ok}${fields}\r\nok`, true).end, fields)
      assert.strictEqual(read(`${ok}${fields}\r\nok`).end, "complete", fields)
    }
    assert.deepStrictEqual(read(`${ok}Transfer-Encoding: chunked, gzip\r\n\r\n2\r\n`).body, "2\r\n")
  })

  it("leaves only the field that frames the body", () => {
    const framingOf = (fields: string, body: string) => read(`${ok}${fields}\r\n\r\n${body}`).headers
    assert.deepStrictEqual(framingOf("Content-Length: 9999\r\nTransfer-Encoding: x, Chunked", "0\r\n"), {
      "transfer-encoding": "chunked"
    })
    assert.deepStrictEqual(framingOf("Content-Length: 2, 2\r\nTransfer-Encoding: identity", "ok"), {
      "content-length": "2"
    })
    assert.deepStrictEqual(framingOf("Content-Length: x\r\nTransfer-Encoding: gzip", "ok"), {})
    assert.deepStrictEqual(read("HTTP/1.1 304 x\nContent-Length: 7\n\n").headers, { "content-length": "7" })
  })

  it("refuses framing that is ambiguous", () => {
    assert.strictEqual(read(`${ok}Content-Length: 2\r\nContent-Length: 3\r\n\r\nokk`).end, "contentLengths")
    assert.strictEqual(read(`${ok}Content-Length: 2, 3\r\n\r\nokk`).end, "contentLengths")
    assert.strictEqual(read(`${ok}Content-Length: 2\0\r\n\r\nok`).end, "framingField")
    assert.strictEqual(read(`${ok}Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n`).end, "framingField")
  })

  it("reads the sizes of chunks as old servers write them", () => {
    const sizes = ["2", "2  ", "\t 2", "0002", "2;x=1", "2 ;x=\"a b\"", "2\t;", "2\r"]
    for (const size of sizes) {
      for (const lineEnd of ["\r\n", "\n"]) {
        const text = `${chunked}${size}${lineEnd}ok${lineEnd}0  ${lineEnd}${lineEnd}`
        assert.strictEqual(bodyOf(text), "ok", JSON.stringify(text))
      }
    }
    assert.strictEqual(bodyOf(`${chunked}A\r\n0123456789\r\na\r\n0123456789\r\n0\r\n`), "01234567890123456789")
  })

  it("accepts a missing line break after a chunk, and a body that ends with its last chunk", () => {
    assert.strictEqual(bodyOf(`${chunked}2\r\nok2\r\nok0\r\n`), "okok")
    assert.strictEqual(read(`${chunked}2\r\nok\r\n0`).end, "complete")
    assert.strictEqual(read(`${chunked}2\r\nok\r\n0\r`).end, "complete")
    assert.strictEqual(read(`${chunked}2\r\nok\r\n000 \r`).end, "complete")
    for (const text of ["", "000", "2", "2\r\n", "2\r\no", "2\r\nok", "2\r\nok\r\n", "2\r\nok\r\n1"]) {
      assert.strictEqual(read(chunked + text).end, "incomplete", text)
    }
  })

  it("refuses a size that is no hexadecimal number, at once", () => {
    for (const size of ["zz", "-1", "0x2", "2 2", "<rss", "ok"]) {
      assert.strictEqual(read(chunked + size, true).end, "chunkSize", size)
    }
    for (const size of ["\r\n", "12345678901234\r\n", "ffffffffffffffff\r\n"]) {
      assert.strictEqual(read(chunked + size, true).end, "chunkSize", size)
    }
  })

  it("skips ten informational responses, and refuses a change of protocol", () => {
    const hints = "HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
    assert.strictEqual(bodyOf(`HTTP/1.1 100 Continue\r\n\r\n${hints.repeat(9)}${ok}Content-Length: 2\r\n\r\nok`), "ok")
    assert.strictEqual(read(hints.repeat(11), true).end, "informational")
    assert.strictEqual(read("HTTP/1.1 101 Switching\r\n\r\n", true).end, "protocolSwitch")
  })

  it("gives 204 and 304 no body", () => {
    for (const status of [204, 304]) {
      assert.deepStrictEqual(bodyOf(`HTTP/1.1 ${status} x\nContent-Length: 5\n\nwrong`), "")
      assert.deepStrictEqual(bodyOf(`HTTP/1.1 ${status} x\nTransfer-Encoding: chunked\n\n5\r\nwrong`), "")
    }
  })

  it("bounds header fields, sizes and extensions", () => {
    const head = (value: number) => `HTTP/1.1 200 OK\nX: ${"a".repeat(value)}\n\n`
    const rest = head(0).length
    assert.strictEqual(read(head(65_536 - rest)).end, "complete")
    assert.strictEqual(read(head(65_537 - rest)).end, "headerSize")
    assert.strictEqual(read(`${ok}X: ${"a".repeat(70_000)}`, true).end, "headerSize")
    assert.strictEqual(read(`${ok}${"X: a\r\n".repeat(500)}\r\n`).end, "complete")
    assert.strictEqual(read(`${ok}${"X: a\r\n".repeat(501)}\r\n`).end, "headerCount")
    assert.strictEqual(read(`${chunked}1;${"a".repeat(4_094)}\r\nx0\r\n`, true).end, "chunkLine")
    assert.strictEqual(read(`${chunked}1;${"a".repeat(4_093)}\r\nx0\r\n`, true).end, "complete")
    const extended = `1;${"a".repeat(4_000)}\r\nx\r\n`
    assert.strictEqual(read(`${chunked}${extended.repeat(16)}0\r\n`).end, "complete")
    assert.strictEqual(read(`${chunked}${extended.repeat(17)}`, true).end, "chunkLine")
    assert.strictEqual(read(chunked + "0".repeat(5_000), true).end, "chunkLine")
  })

  it("calls nothing after `stop`", () => {
    const calls: Array<string> = []
    const reader = new LenientResponseReader({
      onHead: () => {
        calls.push("head")
        reader.stop()
      },
      onData: () => calls.push("data"),
      onEnd: () => calls.push("end"),
      onFault: () => calls.push("fault")
    })
    reader.read(Buffer.from(`${ok}Content-Length: 2\r\n\r\nok`))
    reader.read(Buffer.from("more"))
    reader.end()
    assert.deepStrictEqual(calls, ["head"])
  })

  const pieces = fc.constantFrom(
    "HTTP/1.1 200 OK",
    "HTTP/1.1 100 Continue",
    "HTTP/1.1 304 x",
    "\r\n",
    "\n",
    "\r\n\r\n",
    "\r",
    " ",
    "\t",
    "Content-Length: 3",
    "Content-Length: 4",
    "Transfer-Encoding: chunked",
    "Transfer-Encoding: identity",
    "X: 1",
    ":",
    "\0",
    "3",
    "0",
    ";x=1",
    "abc"
  )
  const noise = fc.array(fc.oneof({ weight: 6, arbitrary: pieces }, fc.string({ unit: "binary-ascii" })), {
    maxLength: 40
  })
    .map((all) => all.join(""))

  const cutsOf = (text: string, cuts: ReadonlyArray<number>): ReadonlyArray<string> => {
    const positions = [...cuts.map((cut) => cut % (text.length + 1)), 0, text.length].toSorted((a, b) => a - b)
    return positions.slice(1).map((position, i) => text.slice(positions[i], position))
  }

  it("ends once for any bytes, and however they are cut", () => {
    const start = fc.constantFrom("", ok, chunked, `${ok}\r\n`)
    fc.assert(
      fc.property(start, noise, fc.array(fc.nat(2_000), { maxLength: 20 }), (head, rest, cuts) => {
        const whole = read(head + rest)
        assert.isDefined(whole.end)
        assert.deepStrictEqual(readAll(cutsOf(head + rest, cuts)), whole)
        assert.deepStrictEqual(readAll((head + rest).split("")), whole)
      }),
      { numRuns: 2_000 }
    )
  })

  it("gives back any body, whatever the framing looks like", () => {
    const lineEnd = fc.constantFrom("\r\n", "\n")
    const space = fc.constantFrom("", " ", "\t", "    ")
    const chunk = fc.record({
      data: fc.string({ unit: "binary-ascii", minLength: 1, maxLength: 40 }),
      before: space,
      behind: space,
      extension: fc.constantFrom("", ";x", ";x=\"a b\"")
    })
    fc.assert(
      fc.property(
        fc.array(chunk),
        lineEnd,
        space,
        fc.array(fc.nat(2_000), { maxLength: 9 }),
        (chunks, end, gap, cuts) => {
          const body = chunks.map(({ data }) => data).join("")
          const chunkLines = chunks.map(({ before, behind, data, extension }) =>
            `${before}${data.length.toString(16)}${behind}${extension}${end}${data}${end}`
          )
          const head = `HTTP/1.1 200 OK${end}Odd name: x${end}`
          const texts = [
            `${head}Transfer-Encoding${gap}: chunked${end}Content-Length: 7${end}${end}${
              chunkLines.join("")
            }0${gap}${end}`,
            `${head}Content-Length${gap}: ${body.length}, ${body.length}${end}${end}${body}${ok}`
          ]
          for (const text of texts) {
            const result = readAll(cutsOf(text, cuts), true)
            assert.deepStrictEqual([result.status, result.end, result.body], [200, "complete", body])
          }
        }
      ),
      { numRuns: 500 }
    )
  })
})
