/** Lower bound of the API: a bare Effect route that answers `?size=N` with N characters of JSON. */
import { NodeHttpServer, NodeRuntime } from "@effect/platform-node"
import { Effect, Layer } from "effect"
import { HttpRouter, HttpServer, HttpServerResponse } from "effect/http"
import { createServer } from "node:http"

const route = HttpRouter.add("GET", "/", (request) => {
  const size = Number(request.url.split("size=")[1])
  return Effect.succeed(
    HttpServerResponse.text(JSON.stringify("x".repeat(size)), { contentType: "application/json; charset=utf-8" })
  )
})

const printPort = Layer.effectDiscard(Effect.map(HttpServer.HttpServer, ({ address }) => {
  process.stdout.write(`${"port" in address ? address.port : 0}\n`)
}))

const server = HttpRouter.serve(route, { disableLogger: true, disableListenLog: true }).pipe(
  Layer.merge(printPort),
  Layer.provide(NodeHttpServer.layer(createServer, { port: 0, host: "127.0.0.1" }))
)

NodeRuntime.runMain(Layer.launch(server))
