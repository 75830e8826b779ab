import { Effect, Exit, Layer, Redacted } from "effect"
import type * as OpenId from "openid-client"
import {
  CurrentIdentityProvider,
  type IdentityProvider,
  IdentityProviderError,
  type SignInChecks
} from "#domain/ports/IdentityProvider.ts"
import { Settings, type SettingsValues } from "#domain/ports/Settings.ts"
import { version } from "./Version.ts"

type Client = typeof OpenId

/** Seconds for one request to the provider. */
const timeoutSeconds = 10

/** Time for which the endpoints of the provider are remembered. */
const rememberedFor = "1 hour"

/** Bytes of one response of the provider. */
const maxResponseBytes = 1024 * 1024

/** Seconds by which the clocks of the provider and of this machine may differ. */
const toleranceSeconds = 30

/** Characters of a text of the provider in a sentence. */
const maxTextLength = 200

/** The provider of the settings, whose library is loaded for it alone. */
export const layer = Layer.unwrap(Effect.map(Settings, (settings) => {
  const { oidcClientId, oidcIssuer } = settings
  return oidcIssuer === undefined || oidcClientId === undefined
    ? Layer.empty
    : Layer.effect(
      CurrentIdentityProvider,
      Effect.flatMap(
        Effect.promise(() => import("openid-client")),
        (client) => makeProvider(client, { ...settings, oidcClientId, oidcIssuer })
      )
    )
}))

type Options = Pick<SettingsValues, "oidcClaim" | "oidcClientSecret" | "baseUrl"> & {
  readonly oidcIssuer: string
  readonly oidcClientId: string
}

const makeProvider = Effect.fnUntraced(function*(client: Client, options: Options) {
  const { oidcClaim: claim } = options
  const attempt = <A>(run: () => Promise<A>) =>
    Effect.tryPromise({
      try: run,
      catch: (failure) => {
        const isAnswer = failure instanceof client.AuthorizationResponseError ||
          failure instanceof client.ResponseBodyError
        return {
          error: explainFailure(client, options, failure),
          reason: isAnswer ? describeAnswer(failure) : describeCause(failure)
        }
      }
    }).pipe(
      Effect.tapError(({ reason }) =>
        Effect.annotateLogs(
          Effect.logWarning("A sign-in at the identity provider failed; the browser gets the reason"),
          {
            issuer: options.oidcIssuer,
            reason
          }
        )
      ),
      Effect.mapError(({ error }) => error)
    )
  // All sign-ins that wait share one request. A failure is forgotten at once.
  const configuration = yield* attempt(() => discover(client, options)).pipe(
    Effect.cachedWithTTL((exit) => Exit.isSuccess(exit) ? rememberedFor : 0)
  )

  const begin = Effect.fn("IdentityProvider.begin")(function*(callback: string) {
    const config = yield* configuration
    const checks = {
      state: client.randomState(),
      nonce: client.randomNonce(),
      verifier: client.randomPKCECodeVerifier()
    }
    const challenge = yield* attempt(() => client.calculatePKCECodeChallenge(checks.verifier))
    const url = client.buildAuthorizationUrl(config, {
      redirect_uri: callback,
      scope: "openid profile",
      state: checks.state,
      nonce: checks.nonce,
      code_challenge: challenge,
      code_challenge_method: "S256"
    })
    return { url: url.href, checks }
  })

  const complete = Effect.fn("IdentityProvider.complete")(function*(answer: string, checks: SignInChecks) {
    const config = yield* configuration
    const tokens = yield* attempt(() =>
      client.authorizationCodeGrant(config, new URL(answer), {
        expectedState: checks.state,
        expectedNonce: checks.nonce,
        pkceCodeVerifier: checks.verifier
      })
    )
    const claims = tokens.claims()
    const stated = claims?.[claim]
    if (isLogin(stated)) return stated
    // Some providers tell the claims of a profile at their endpoint for them alone.
    const endpoint = config.serverMetadata().userinfo_endpoint
    if (claims !== undefined && endpoint !== undefined) {
      const told = (yield* attempt(() => client.fetchUserInfo(config, tokens.access_token, claims.sub)))[claim]
      if (isLogin(told)) return told
    }
    return yield* fail(
      "NoLogin",
      `The identity provider names no login for you: its answer has no text in the claim ${quoteText(claim)}. ` +
        "An operator of Windhover chooses the claim with WINDHOVER_OIDC_CLAIM."
    )
  })

  return { begin, complete } satisfies IdentityProvider
})

/** Reads the endpoints of the issuer. Plain HTTP is for an issuer on this machine, whose setting says so. */
const discover = async (client: Client, options: Options): Promise<OpenId.Configuration> => {
  const { oidcClientId, oidcClientSecret, oidcIssuer } = options
  const issuer = new URL(oidcIssuer)
  const isPlain = issuer.protocol === "http:"
  const config = await client.discovery(
    issuer,
    oidcClientId,
    { [client.clockTolerance]: toleranceSeconds },
    authenticateWith(client, oidcClientSecret),
    {
      timeout: timeoutSeconds,
      [client.customFetch]: makeFetch(options),
      execute: [client.enableNonRepudiationChecks, ...(isPlain ? [client.allowInsecureRequests] : [])]
    }
  )
  return config
}

/** The method that the provider names; HTTP Basic, the default of OpenID Connect, if it names none. */
const authenticateWith = (client: Client, secret: Redacted.Redacted | undefined): OpenId.ClientAuth => {
  if (secret === undefined) return client.None()
  const [basic, post] = [
    client.ClientSecretBasic(Redacted.value(secret)),
    client.ClientSecretPost(Redacted.value(secret))
  ]
  return (server, ...rest) => {
    const methods = server.token_endpoint_auth_methods_supported
    const isPost = methods !== undefined && !methods.includes("client_secret_basic") &&
      methods.includes("client_secret_post")
    return (isPost ? post : basic)(server, ...rest)
  }
}

/**
 * Sends the requests of the library, and reads at most 1 MiB of a response.
 *
 * The operator names the issuer, so that no address guard applies: providers often have private addresses. No redirect is followed.
 */
const makeFetch = ({ baseUrl }: Options): OpenId.CustomFetch => async (url, { body, headers, method, signal }) => {
  const response = await fetch(url, {
    method,
    headers: { ...headers, "user-agent": `Windhover/${version} (+${baseUrl})` },
    redirect: "manual",
    ...(body !== undefined && body !== null && { body }),
    ...(signal !== undefined && { signal })
  })
  const parts: Array<Uint8Array> = []
  let bytes = 0
  for await (const part of response.body ?? []) {
    bytes += part.byteLength
    if (bytes > maxResponseBytes) throw new Error(`the answer has more than ${maxResponseBytes} bytes`)
    parts.push(part)
  }
  const hasBody = ![204, 205, 304].includes(response.status)
  return new Response(hasBody ? Buffer.concat(parts) : null, { status: response.status, headers: response.headers })
}

/** A claim that can be a login. */
const isLogin = (value: unknown): value is string => typeof value === "string" && value !== ""

const fail = (tag: IdentityProviderError["reason"]["_tag"], message: string) =>
  new IdentityProviderError({ reason: { _tag: tag, message } })

const explainFailure = (client: Client, { oidcIssuer }: Options, failure: unknown): IdentityProviderError => {
  if (failure instanceof client.AuthorizationResponseError) {
    return fail("Refused", `The identity provider refused the sign-in: ${describeAnswer(failure)}.`)
  }
  if (failure instanceof client.ResponseBodyError) {
    return fail(
      "Refused",
      `The identity provider refused the request of Windhover: ${describeAnswer(failure)}. An operator checks ` +
        "WINDHOVER_OIDC_CLIENT_ID, WINDHOVER_OIDC_CLIENT_SECRET and the callback at the provider."
    )
  }
  if (failure instanceof client.ClientError && failure.code !== "OAUTH_TIMEOUT") {
    return fail("Unusable", `The answer of the identity provider is not usable: ${describeCause(failure)}.`)
  }
  // The words of the failure may have private addresses.
  return fail(
    "Unreachable",
    `The identity provider ${
      quoteText(oidcIssuer)
    } cannot be reached; the log of Windhover has the reason. Try again, or sign in with your password.`
  )
}

const describeAnswer = (answer: { readonly error: string; readonly error_description?: string | undefined }): string =>
  quoteText(answer.error) +
  (answer.error_description === undefined ? "" : ` (${answer.error_description.slice(0, maxTextLength)})`)

/** The words of an error and of its causes. The innermost one tells the most. */
const describeCause = (failure: unknown): string => {
  const words: Array<string> = []
  let error = failure
  for (let depth = 0; error instanceof Error && depth < maxCauses; depth++) {
    const code = "code" in error && typeof error.code === "string" ? ` (${error.code})` : ""
    words.push(`${error.message}${code}`)
    error = error.cause
  }
  return words.join(": ").slice(0, 2 * maxTextLength)
}

const maxCauses = 3

const quoteText = (text: string): string => JSON.stringify(text.slice(0, maxTextLength))
