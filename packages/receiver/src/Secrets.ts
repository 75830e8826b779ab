import { decodeBase64 } from "./Base64.ts"

/** One secret, or several during a rotation. */
export type Secret = string | ReadonlyArray<string>

/** The head of a request, from which a function chooses the secret of a subscription. Nothing of it is verified yet. */
export interface RequestHead {
  readonly url: string
  readonly headers: Headers
}

/** The secret of all subscriptions, or a function that finds the secret of a request; undefined refuses the request. */
export type SecretSource =
  | Secret
  | ((request: RequestHead) => Secret | undefined | Promise<Secret | undefined>)

const maxSecrets = 16

/** Checks the secrets that are known from the start, so that a mistake shows before the first request. */
export const checkSecretSource = (source: SecretSource): void => {
  if (typeof source !== "function") toSecrets(source)
}

/** The secrets for one request. */
export const resolveSecrets = async (source: SecretSource, head: RequestHead): Promise<ReadonlyArray<string>> => {
  const secret = typeof source === "function" ? await source(head) : source
  return secret === undefined ? [] : toSecrets(secret)
}

const toSecrets = (secret: Secret): ReadonlyArray<string> => {
  const secrets = typeof secret === "string" ? [secret] : secret
  if (secrets.length === 0 || secrets.length > maxSecrets) {
    throw new TypeError(`\`secret\` has 1 to ${maxSecrets} secrets, not ${secrets.length}.`)
  }
  for (const one of secrets) {
    if (typeof one !== "string" || one === "") {
      throw new TypeError("`secret` is empty. Set it to the hub.secret of the subscription.")
    }
    if (one.startsWith("whsec_") && decodeBase64(one.slice(6)) === undefined) {
      throw new TypeError("`secret` begins with whsec_, but no Base64 follows. Copy the whole secret.")
    }
  }
  return secrets
}
