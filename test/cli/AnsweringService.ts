import { Effect } from "effect"
import { TestConsole } from "effect/testing"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"

/** A service with these answers in turn; records the requests. */
export const answeringService = Effect.fnUntraced(
  function*(...answers: ReadonlyArray<readonly [status: number, body: unknown]>) {
    const asked: Array<string> = []
    const server = yield* Effect.acquireRelease(
      Effect.callback<ReturnType<typeof createServer>>((resume) => {
        const server = createServer((request, response) => {
          let body = ""
          request.setEncoding("utf8").on("data", (chunk: string) => body += chunk).on("end", () => {
            const [status, answer] = answers[asked.length] ?? [500, {}]
            asked.push(`${request.method} ${request.url} ${body}`.trim())
            response.writeHead(status).end(JSON.stringify(answer))
          })
        })
        server.listen(0, "127.0.0.1", () => resume(Effect.succeed(server)))
      }),
      (server) => Effect.sync(() => server.close().closeAllConnections())
    )
    return { asked, flags: ["--url", `http://127.0.0.1:${(server.address() as AddressInfo).port}`, "--token", "t"] }
  }
)

/** The output of the commands so far. */
export const printed = Effect.map(TestConsole.logLines, (lines) => lines.join("\n"))
