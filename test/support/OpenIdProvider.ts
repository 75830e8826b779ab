import { Effect, type Scope } from "effect"
import { exportJWK, generateKeyPair, SignJWT } from "jose"
import { createHash, randomBytes } from "node:crypto"
import * as http from "node:http"
import type * as net from "node:net"

/** Faults of a provider, one at a time. */
export interface Faults {
  /** Claims of the ID token, over the right ones. */
  claims?: Record<string, unknown>
  /** Signs with a key that the provider does not publish. */
  isForged?: boolean
  /** Parameters of the answer to the browser, over the right ones. */
  answer?: Record<string, string>
  /** Parameters of the published configuration, over the right ones. */
  configuration?: Record<string, unknown>
  /** The answer of the token endpoint has no ID token. */
  hasNoToken?: boolean
  /** Bytes that precede the published configuration. */
  padding?: number
}

export interface OpenIdProvider {
  readonly issuer: string
  readonly faults: Faults
  /** Claims of the person that signs in: some in the ID token, others at the endpoint for them. */
  readonly person: { token: Record<string, unknown>; endpoint: Record<string, unknown> }
  /** Requests by path, in order, each with its Authorization header. */
  readonly requests: Array<{ readonly path: string; readonly authorization: string | undefined; readonly body: string }>
}

interface Grant {
  readonly challenge: string
  readonly nonce: string
  readonly redirectUri: string
}

/** Id and secret of the client. The secret has characters that HTTP Basic has to encode. */
export const client = { id: "windhover", secret: "s3cret:with+signs %" }

const algorithm = "RS256"

/** An OpenID provider on loopback: authorization code with PKCE, ID tokens with a signature, userinfo. It asks nobody for a password. */
export const openIdProvider: Effect.Effect<OpenIdProvider, never, Scope.Scope> = Effect.gen(function*() {
  const keys = yield* Effect.promise(() => generateKeyPair(algorithm))
  const otherKeys = yield* Effect.promise(() => generateKeyPair(algorithm))
  const published = {
    ...(yield* Effect.promise(() => exportJWK(keys.publicKey))),
    kid: "1",
    alg: algorithm,
    use: "sig"
  }
  const grants = new Map<string, Grant>()
  const server = yield* Effect.acquireRelease(
    Effect.callback<http.Server>((resume) => {
      const open = http.createServer()
      open.listen(0, "127.0.0.1", () => resume(Effect.succeed(open)))
    }),
    (open) =>
      Effect.sync(() => {
        open.close()
        open.closeAllConnections()
      })
  )
  const issuer = `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`
  const provider: OpenIdProvider = {
    issuer,
    faults: {},
    person: { token: { preferred_username: "admin" }, endpoint: {} },
    requests: []
  }

  const idToken = async ({ nonce }: Grant): Promise<string> => {
    const now = Math.floor(Date.now() / 1000)
    const claims = {
      iss: issuer,
      sub: "person-1",
      aud: client.id,
      iat: now,
      exp: now + 60,
      nonce,
      ...provider.person.token,
      ...provider.faults.claims
    }
    return new SignJWT(claims).setProtectedHeader({ alg: algorithm, kid: "1" }).sign(
      provider.faults.isForged === true ? otherKeys.privateKey : keys.privateKey
    )
  }

  const grantToken = async (form: URLSearchParams, authorization: string | undefined): Promise<[number, object]> => {
    const credentials = [client.id, client.secret].map((part) => encodeURIComponent(part).replaceAll("%20", "+")).join(
      ":"
    )
    const isBasic = authorization === `Basic ${Buffer.from(credentials).toString("base64")}`
    const isPost = form.get("client_secret") === client.secret
    const isPublic = authorization === undefined && form.get("client_id") === client.id && !form.has("client_secret")
    if (!isBasic && !isPost && !isPublic) {
      return [401, { error: "invalid_client", error_description: "unknown <client>" }]
    }
    const grant = grants.get(form.get("code") ?? "")
    grants.delete(form.get("code") ?? "")
    const challenge = createHash("sha256").update(form.get("code_verifier") ?? "").digest("base64url")
    if (grant?.challenge !== challenge || grant.redirectUri !== form.get("redirect_uri")) {
      return [400, { error: "invalid_grant" }]
    }
    return [200, {
      access_token: "access",
      token_type: "Bearer",
      expires_in: 60,
      ...(provider.faults.hasNoToken !== true && { id_token: await idToken(grant) })
    }]
  }

  server.on("request", (request, response) => {
    let body = ""
    const { pathname, searchParams } = new URL(request.url ?? "", issuer)
    const json = (status: number, value: object) => {
      response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(value))
    }
    const answer = async () => {
      provider.requests.push({ path: pathname, authorization: request.headers.authorization, body })
      switch (pathname) {
        case "/.well-known/openid-configuration":
          return json(200, {
            issuer,
            authorization_endpoint: `${issuer}/authorize`,
            token_endpoint: `${issuer}/token`,
            userinfo_endpoint: `${issuer}/userinfo`,
            jwks_uri: `${issuer}/jwks`,
            response_types_supported: ["code"],
            subject_types_supported: ["public"],
            id_token_signing_alg_values_supported: [algorithm],
            code_challenge_methods_supported: ["S256"],
            ...provider.faults.configuration,
            ...(provider.faults.padding !== undefined && { padding: "x".repeat(provider.faults.padding) })
          })
        case "/jwks":
          return json(200, { keys: [published] })
        case "/authorize": {
          const code = randomBytes(8).toString("hex")
          const redirectUri = searchParams.get("redirect_uri") ?? ""
          grants.set(code, {
            challenge: searchParams.get("code_challenge") ?? "",
            nonce: searchParams.get("nonce") ?? "",
            redirectUri
          })
          const state = searchParams.get("state") ?? ""
          const query = new URLSearchParams({ code, state, iss: issuer, ...provider.faults.answer })
          if (query.has("error")) query.delete("code")
          return response.writeHead(302, { location: `${redirectUri}?${query}` }).end()
        }
        case "/token":
          return json(...await grantToken(new URLSearchParams(body), request.headers.authorization))
        case "/userinfo":
          return json(200, { sub: "person-1", ...provider.person.endpoint })
        default:
          return json(404, {})
      }
    }
    request.setEncoding("utf8").on("data", (part: string) => body += part).on("end", () => void answer())
  })
  return provider
})
