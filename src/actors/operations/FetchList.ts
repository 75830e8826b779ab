import { Effect, type Scope, Stream } from "effect"
import { Fetcher } from "#domain/ports/Fetcher.ts"
import { badParameter, type Refusal } from "#domain/Refusal.ts"
import { hasControlCharacter, maxTopicLength, quote } from "#domain/Topic.ts"
import { hasCredentials } from "#domain/UrlCredentials.ts"
import { makeCheckAddress } from "./CheckAddress.ts"
import { maxListBytes } from "./Import.ts"

/** Time for a list to arrive, in ms. */
const deadlineMs = 30_000

/** Makes the function that fetches a list under the rules of topics: public addresses only, and no credentials. */
export const makeFetchList = Effect.gen(function*() {
  const fetcher = yield* Fetcher
  const checkAddress = yield* makeCheckAddress

  return Effect.fnUntraced(function*(url: string): Effect.fn.Return<Stream.Stream<Uint8Array>, Refusal, Scope.Scope> {
    const problem = findProblem(url)
    if (problem !== undefined) return yield* badParameter("url", problem)
    yield* checkAddress(url, "url")
    const { body, status } = yield* Effect.acquireRelease(
      fetcher.fetch({ url, maxBytes: maxListBytes, deadline: deadlineMs }).pipe(
        Effect.mapError(({ message }) => badParameter("url", `The list could not be fetched: ${message}`))
      ),
      ({ returnRoom }) => Effect.sync(() => returnRoom?.()),
      { interruptible: true }
    )
    return status >= 200 && status < 300
      ? Stream.succeed(body)
      : yield* badParameter("url", `The list could not be fetched: its server answered ${status}.`)
  })
})

const findProblem = (url: string): string | undefined => {
  if (url.length > maxTopicLength) return `url has ${url.length} characters; at most ${maxTopicLength} are accepted.`
  if (hasCredentials(url)) return "url holds a user name or password; send the list itself as the body instead."
  const protocol = hasControlCharacter(url) ? undefined : URL.parse(url)?.protocol
  return protocol === "http:" || protocol === "https:"
    ? undefined
    : `url has to be the http or https URL of a list; received ${quote(url)}.`
}
