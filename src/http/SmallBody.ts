import { toIncomingMessage } from "@effect/platform-node/NodeHttpServerRequest"
import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { IncomingMessage } from "node:http"
import type { HttpRejection } from "./HttpRejection.ts"

/**
 * Reads a body whose Content-Length is within a limit: Node passes on no byte beyond it.
 *
 * Two listeners on Node's message take half the CPU time of `request.arrayBuffer`, whose end waits for the close of a stream.
 */
export const readSmallBody = (
  request: HttpServerRequest,
  incomplete: HttpRejection
): Effect.Effect<Uint8Array<ArrayBuffer>, HttpRejection> =>
  Effect.suspend(() => { // the client may leave before the body is read
    const message: unknown = toIncomingMessage(request)
    return isUnread(message, request)
      ? collect(message, incomplete)
      : Effect.map(Effect.mapError(request.arrayBuffer, () => incomplete), (buffer) => new Uint8Array(buffer))
  })

/** True for a message of Node that still emits its body. A client that expects 100 Continue waits for it first, and an upgrade has no message. */
const isUnread = (message: unknown, { headers }: HttpServerRequest): message is IncomingMessage =>
  message instanceof IncomingMessage && !message.destroyed && !message.readableDidRead &&
  headers["expect"] === undefined && headers["upgrade"] === undefined

const collect = (
  message: IncomingMessage,
  incomplete: HttpRejection
): Effect.Effect<Uint8Array<ArrayBuffer>, HttpRejection> =>
  Effect.callback((resume) => {
    const chunks: Array<Uint8Array<ArrayBuffer>> = []
    const finish = (outcome: Effect.Effect<Uint8Array<ArrayBuffer>, HttpRejection>) => {
      message.off("data", onData).off("end", onEnd).off("close", onClose)
      resume(outcome)
    }
    const onData = (chunk: Uint8Array<ArrayBuffer>) => void chunks.push(chunk)
    const onEnd = () => finish(Effect.succeed(chunks.length === 1 && chunks[0] || Buffer.concat(chunks)))
    // A client that disconnects closes the message, with or without an error.
    const onClose = () => finish(Effect.fail(incomplete))
    message.on("data", onData).on("end", onEnd).on("close", onClose).on("error", ignore)
    return Effect.sync(() => {
      message.off("data", onData).off("end", onEnd).off("close", onClose).destroy()
    })
  })

/** An error is followed by the close. */
const ignore = (): void => {}
