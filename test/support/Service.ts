import { Data, Effect, Schedule, type Scope } from "effect"
import { type ChildProcess, spawn } from "node:child_process"
import { once } from "node:events"
import * as http from "node:http"
import type * as net from "node:net"
import * as path from "node:path"
import { createInterface } from "node:readline"
import { withSettings } from "#scripts/Environment.ts"
import * as FreePort from "#scripts/FreePort.ts"
import { awaitCondition } from "./AwaitCondition.ts"

/** Token of the first account, whose login is admin. */
export const token = "end-to-end-token-0123456789"

/** Authorization header of the first account. */
export const authorization = `Basic ${Buffer.from(`admin:${token}`).toString("base64")}`

/** Timeout of a test, in ms. On a busy machine, a service needs a minute to start. */
export const patience = 600_000

/** A running `windhover serve`. */
export interface Service {
  readonly url: string
  /** Lines of the output. */
  readonly said: ReadonlyArray<string>
  readonly process: ChildProcess
  /** Kills the process, and returns after its end. */
  readonly kill: Effect.Effect<void>
  readonly call: (
    parameters: Record<string, string>
  ) => Effect.Effect<{ readonly status: number; readonly text: string; readonly retryAfter: string | null }>
  /** Returns when all partitions of the runner are awake. */
  readonly ready: Effect.Effect<void>
}

/** Failed start of a service, with its output. */
export class StartError extends Data.TaggedError("NotStarted")<{ readonly message: string }> {}

const bin = path.join(import.meta.dirname, "../../bin/windhover")

export const freePort = Effect.promise(FreePort.freePort)

const gone = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit")
}

/** Starts the service on a free port of loopback; killed with the scope. `command` is the command line of a user. */
export const start = (
  variables: Record<string, string>,
  [program, ...args]: readonly [string, ...ReadonlyArray<string>] = [bin, "serve"]
): Effect.Effect<Service, StartError, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() =>
        spawn(program, args, {
          stdio: ["ignore", "pipe", "pipe"],
          env: withSettings({
            WINDHOVER_PORT: "0",
            WINDHOVER_HOST: "127.0.0.1",
            WINDHOVER_ALLOW_PRIVATE: "true",
            WINDHOVER_MIN_PERIOD: "1",
            WINDHOVER_ADMIN_TOKEN: token,
            ...variables
          })
        })
      ),
      (child) =>
        Effect.promise(async () => {
          child.kill("SIGKILL")
          await gone(child)
        })
    ).pipe(Effect.flatMap((child) => Effect.map(readyAt(child), (ready) => ({ child, ...ready })))),
    ({ child, said, url }) => ({
      url,
      said,
      process: child,
      kill: Effect.promise(async () => {
        child.kill("SIGKILL")
        await gone(child)
      }),
      call: (parameters) =>
        Effect.promise(async () => {
          const response = await fetch(url, {
            method: "POST",
            headers: { authorization },
            body: new URLSearchParams(parameters)
          })
          const retryAfter = response.headers.get("retry-after")
          return { status: response.status, text: await response.text(), retryAfter }
        }),
      ready: Effect.promise((signal) => fetch(`${url}/readyz`, { signal })).pipe(
        Effect.repeat({ until: ({ ok }) => ok, schedule: Schedule.spaced("100 millis") }),
        Effect.asVoid
      )
    })
  )

const readyAt = (child: ChildProcess) =>
  Effect.callback<Pick<Service, "url" | "said">, StartError>((resume) => {
    const said: Array<string> = []
    for (const stream of [child.stdout, child.stderr]) {
      if (stream === null) continue
      createInterface({ input: stream }).on("line", (line) => {
        said.push(line)
        const url = /ready on (http:\S+)/.exec(line)?.[1]
        if (url !== undefined) resume(Effect.succeed({ url: url.replace("localhost", "127.0.0.1"), said }))
      })
    }
    child.once("close", () => resume(Effect.fail(new StartError({ message: said.join("\n") }))))
  })

/** Status and sentence of `/healthz`. */
const health = (service: Service) =>
  Effect.promise(async () => {
    const answer = await fetch(`${service.url}/healthz`)
    return `${answer.status} ${await answer.text()}`
  })

/** Polls `/healthz` until its answer is `wanted`. */
export const untilHealth = (service: Service, wanted: string) =>
  Effect.repeat(health(service), { until: (answer) => answer === wanted, schedule: Schedule.spaced("200 millis") })

export interface Posted {
  readonly path: string
  readonly sequence: number
  readonly notification: string
  readonly ids: ReadonlyArray<string>
  /** `refused`: answered with a 503. `lost`: the sender closed the connection before the answer. */
  answer: "held" | "given" | "refused" | "lost"
}

/** A feed and webhooks on loopback that outlive the service. */
export interface Outside {
  readonly url: string
  /** URLs of the same feed on several hosts, and so in several partitions. */
  readonly feeds: ReadonlyArray<string>
  readonly publish: (id: string) => void
  readonly posted: Array<Posted>
  /** While true, the feed does not answer. */
  silent: boolean
  /** While true, webhooks hold their answers back. */
  hold: boolean
  /** While true, webhooks answer with a 503. */
  refuse: boolean
  /** Resolves when `condition` holds; checked when a notification arrives, is answered, or is lost. */
  readonly until: (condition: () => boolean) => Effect.Effect<void>
}

export const outside: Effect.Effect<Outside, never, Scope.Scope> = Effect.gen(function*() {
  const ids = ["first"]
  const posted: Array<Posted> = []
  const waiting = new Set<() => void>()
  const held: Array<http.ServerResponse> = []
  const servers: Array<http.Server> = []
  let holding = false
  const hosts = Array.from({ length: 16 }, (_, i) => `127.0.0.${i + 1}`)
  const feed = () =>
    `<rss version="2.0"><channel><title>A feed</title>${
      ids.toReversed().map((id) => `<item><title>${id}</title><guid isPermaLink="false">${id}</guid></item>`).join("")
    }</channel></rss>`
  const answer: http.RequestListener = (request, response) => {
    if (request.method === "GET") return state.silent ? undefined : void response.end(feed())
    let body = ""
    request.setEncoding("utf8").on("data", (chunk: string) => body += chunk).on("end", () => {
      const one: Posted = {
        path: request.url ?? "",
        sequence: Number(request.headers["x-windhover-sequence"]),
        notification: String(request.headers["x-windhover-notification-id"]),
        ids: [...body.matchAll(/<entry[^>]*>.*?<id>(.*?)<\/id>/gs)].map((match) => match[1] ?? ""),
        answer: "held"
      }
      posted.push(one)
      if (state.refuse) response.statusCode = 503
      response.once("close", () => {
        one.answer = !response.writableFinished ? "lost" : response.statusCode === 503 ? "refused" : "given"
        lookAgain()
      })
      if (holding) held.push(response)
      else response.end()
      lookAgain()
    })
  }
  const lookAgain = () => {
    for (const look of waiting) look()
  }
  const listen = (host: string, port: number) =>
    Effect.acquireRelease(
      Effect.callback<number>((resume) => {
        const server = http.createServer(answer).listen(port, host, () => {
          servers.push(server)
          resume(Effect.succeed((server.address() as net.AddressInfo).port))
        })
      }),
      () =>
        Effect.sync(() => {
          for (const server of servers.splice(0)) {
            server.close()
            server.closeAllConnections()
          }
        })
    )
  const port = yield* listen("127.0.0.1", 0)
  yield* Effect.forEach(hosts.slice(1), (host) => listen(host, port))
  const state: Outside = {
    url: `http://127.0.0.1:${port}`,
    feeds: hosts.map((host) => `http://${host}:${port}/feed`),
    publish: (id) => void ids.push(id),
    posted,
    silent: false,
    refuse: false,
    get hold() {
      return holding
    },
    set hold(hold) {
      holding = hold
      if (!hold) { for (const response of held.splice(0)) response.end() }
    },
    until: awaitCondition(waiting)
  }
  return state
})

/**
 * Ids that a webhook received and answered, in order, and violations of the rules of delivery.
 *
 * Notifications are numbered from 1, and the next one follows the answer to the last. A repetition follows its original at once and equals
 * it. Unanswered notifications do not count as delivered.
 */
export const received = (posted: ReadonlyArray<Posted>, path: string) => {
  const ids: Array<string> = []
  const faults: Array<string> = []
  let last: Posted | undefined
  let answered = true
  for (const one of posted.filter((one) => one.path === path)) {
    if (last?.notification === one.notification) {
      if (one.sequence !== last.sequence || one.ids.join() !== last.ids.join()) {
        faults.push(`${one.notification} differs when repeated`)
      }
    } else {
      const expected = (last?.sequence ?? 0) + 1
      if (one.sequence !== expected) faults.push(`${one.notification} has ${one.sequence} instead of ${expected}`)
      if (!answered) faults.push(`${one.notification} comes although the one before it was not answered`)
      answered = false
    }
    if (one.answer === "given" && !answered) {
      answered = true
      ids.push(...one.ids.toReversed())
    }
    last = one
  }
  return { ids, faults }
}
