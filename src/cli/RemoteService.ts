import { Config, Effect, Option, Schema } from "effect"
import { Flag } from "effect/cli"
import { request } from "undici"

/** Failed call of the HTTP API. `message` is the service's sentence, or the reason why the service is not reachable. */
export class RemoteError extends Schema.TaggedError<RemoteError>()("RemoteError", { message: Schema.String }) {}

/** Refuses a flag that is no URL of a service. */
export const checkUrl = Flag.filter(
  (url: string) => /^https?:\/\//i.test(url) && URL.canParse(url),
  () => "an http(s) URL, such as http://localhost:8080"
)

const urlFlag = (name: string) =>
  Flag.String(name).pipe(
    Flag.withDescription("URL of the service (default: http://localhost:8080); also WINDHOVER_URL"),
    Flag.withFallbackConfig(Config.String("WINDHOVER_URL").pipe(Config.withDefault("http://localhost:8080"))),
    checkUrl
  )

const loginFlag = (name: string) =>
  Flag.String(name).pipe(
    Flag.withDescription("Login of the account (default: admin); also WINDHOVER_LOGIN"),
    Flag.withFallbackConfig(Config.String("WINDHOVER_LOGIN").pipe(Config.withDefault("admin")))
  )

const tokenFlag = (name: string) =>
  Flag.String(name).pipe(
    Flag.withDescription(
      "Token or password of the account. Set WINDHOVER_TOKEN instead to keep it out of the shell's history"
    ),
    Flag.withFallbackConfig(Config.String("WINDHOVER_TOKEN"))
  )

/** Flags of every command that calls a running service. */
export const serviceFlags = { url: urlFlag("url"), login: loginFlag("login"), token: tokenFlag("token") }

/** The same for a command that calls another service as well. */
export const ownServiceFlags = {
  toUrl: urlFlag("to-url"),
  toLogin: loginFlag("to-login"),
  toToken: tokenFlag("to-token")
}

export interface RemoteService {
  readonly url: string
  readonly login: string
  readonly token: string
}

/** The service's URL without slashes at its end. */
export const getBaseUrl = ({ url }: RemoteService): string => url.replace(/\/+$/, "")

export const getAuthorization = ({ login, token }: RemoteService): string =>
  `Basic ${Buffer.from(`${login}:${token}`).toString("base64")}`

/** Calls the HTTP API and returns the body of a successful answer. */
export const callApi = (service: RemoteService, method: "GET" | "POST", parameters: Record<string, string>) => {
  const form = new URLSearchParams(parameters).toString()
  // on a subscribe, an Accept header would choose the format of the notifications
  return method === "GET"
    ? send(service, "GET", `/?${form}`, { accept: "application/json" })
    : send(service, "POST", "/", { "content-type": "application/x-www-form-urlencoded" }, form)
}

const send = Effect.fnUntraced(
  function*(
    service: RemoteService,
    method: "GET" | "POST",
    path: string,
    headers: Record<string, string>,
    body?: string
  ) {
    const base = getBaseUrl(service)
    const answer = yield* Effect.tryPromise({
      try: async (signal) => {
        const response = await request(base + path, {
          method,
          signal,
          headers: { authorization: getAuthorization(service), ...headers },
          ...(body === undefined ? {} : { body })
        })
        return { status: response.statusCode, text: await response.body.text() }
      },
      catch: () =>
        new RemoteError({ message: `Windhover does not answer at ${base}/. Is it running? --url says where.` })
    })
    return answer.status < 300
      ? answer.text
      : yield* new RemoteError({ message: `${answer.status}: ${errorTextOf(answer.text)}` })
  }
)

const decodeError = Schema.decodeUnknownOption(
  Schema.fromJsonString(Schema.Struct({ error: Schema.Struct({ message: Schema.String }) }))
)

/** The sentence of an error: the management API wraps it in JSON. */
export const errorTextOf = (text: string): string =>
  Option.match(decodeError(text), { onNone: () => text, onSome: ({ error }) => error.message })

/** Calls a path below `/api` and returns the JSON of a successful answer. A GET sends `input` as its query, a POST as JSON. */
export const callManagementApi = Effect.fnUntraced(
  function*(service: RemoteService, method: "GET" | "POST", path: `/api/${string}`, input: Record<string, unknown>) {
    const query = new URLSearchParams()
    for (const [name, value] of Object.entries(input)) query.set(name, String(value))
    const text = yield* method === "GET"
      ? send(service, "GET", `${path}?${query}`, { accept: "application/json" })
      : send(service, "POST", path, { "content-type": "application/json" }, JSON.stringify(input))
    return yield* Effect.try({ try: (): unknown => JSON.parse(text), catch: otherService })
  }
)

/** Decodes an answer of the service; another service gives another answer. */
export const decodeAnswer = <A>(schema: Schema.Codec<A>) => (answer: unknown): Effect.Effect<A, RemoteError> =>
  Effect.mapError(Schema.decodeUnknownEffect(schema)(answer), otherService)

/** The given flags by name. */
export const givenFlags = (flags: { readonly [name: string]: Option.Option<unknown> }): Record<string, unknown> =>
  Object.fromEntries(Object.entries(flags).flatMap(([name, flag]) => Option.isSome(flag) ? [[name, flag.value]] : []))

/** The answer is not Windhover's. */
export const otherService = (): RemoteError =>
  new RemoteError({ message: "The answer is not one of Windhover's: does --url name another service?" })

/** Rows of one page of a list, and the cursor of the next page. */
interface ListedPage<Row> {
  readonly rows: ReadonlyArray<Row>
  readonly next?: string | undefined
}

/** Maximum of rows that the service puts on a page. */
const maxPageRows = 100

/** Reads page after page of a list, from a cursor on, until there are `limit` rows or no further ones. */
export const readPages = <Row, E, R>(
  limit: number,
  from: string | undefined,
  readPage: (page: { readonly limit: number; readonly cursor?: string }) => Effect.Effect<ListedPage<Row>, E, R>
): Effect.Effect<ListedPage<Row>, E, R> =>
  Effect.gen(function*() {
    const rows: Array<Row> = []
    let cursor = from
    do {
      const page = yield* readPage({
        limit: Math.min(limit - rows.length, maxPageRows),
        ...(cursor !== undefined && { cursor })
      })
      rows.push(...page.rows)
      cursor = page.next
    } while (cursor !== undefined && rows.length < limit)
    return { rows, next: cursor }
  })
