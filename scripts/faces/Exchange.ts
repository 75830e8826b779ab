import { connect } from "node:net"
import type { RawRequest } from "./HttpRequests.ts"

/** Answer to a request; undefined when the server closed without one, or answered nothing in time. */
export interface Answer {
  readonly status: number
  readonly head: string
  readonly body: string
}

/** Characters of an answer that are kept. */
const maxKept = 64 << 10

/** Sends the bytes and reads the answer until its end, at most for `timeoutMs`: streams stay open. */
export const exchange = ({ parts }: RawRequest, port: number, timeoutMs: number): Promise<Answer | undefined> =>
  new Promise((resolve) => {
    const socket = connect({ host: "127.0.0.1", port })
    let text = ""
    const timer = setTimeout(() => socket.destroy(), timeoutMs)
    socket.setEncoding("latin1")
    socket.on("connect", () => {
      for (const part of parts) socket.write(part)
    })
    socket.on("data", (data: string) => {
      if (text.length < maxKept) text += data
    })
    socket.on("error", () => {}) // followed by `close`
    socket.on("close", () => {
      clearTimeout(timer)
      resolve(parseAnswer(text))
    })
  })

const parseAnswer = (text: string): Answer | undefined => {
  const final = text.replace(/^HTTP\/1\.1 100 [^\r]*\r\n\r\n/, "")
  const match = /^HTTP\/1\.1 (\d{3}) [\s\S]*?\r\n\r\n/.exec(final)
  if (match === null) return undefined
  return { status: Number(match[1]), head: match[0], body: final.slice(match[0].length) }
}
