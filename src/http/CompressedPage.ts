import { Effect } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { accepts } from "./Negotiation.ts"
import * as Reply from "./Reply.ts"

/**
 * A handler for a constant text, with gzip and an ETag. A browser that has the text gets 304.
 *
 * The text is compressed once, because strangers may request the 2 MB of the documentation at any rate. Effect's middleware would
 * compress each response.
 */
export const makeCompressedPage = Effect.fnUntraced(function*(
  text: string,
  contentType: string,
  headers: Readonly<Record<string, string>>
) {
  const plain = Buffer.from(text)
  const gzip = yield* Effect.promise(() => compress(plain))
  return (request: HttpServerRequest.HttpServerRequest): HttpServerResponse.HttpServerResponse => {
    const isCompressed = accepts(request.headers["accept-encoding"], "gzip")
    const response = Reply.withETag(
      isCompressed ? gzip : plain,
      request.headers["if-none-match"],
      (body, tag) =>
        Reply.constant(body, contentType, {
          ...headers,
          ...tag,
          ...(isCompressed && { "content-encoding": "gzip" })
        })
    )
    return HttpServerResponse.setHeaders(response, { "cache-control": "public, no-cache", vary: "Accept-Encoding" })
  }
})

/** A web stream, because this room does not import `node:zlib`. */
const compress = async (bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array> => {
  const stream = new Blob([bytes]).stream().pipeThrough(new CompressionStream("gzip"))
  return new Uint8Array(await new Response(stream).arrayBuffer())
}
