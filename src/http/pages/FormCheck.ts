import { Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { isSameOrigin } from "#http/CrossSite.ts"
import { crossSite, type HttpRejection } from "#http/HttpRejection.ts"
import type { Parameters } from "#http/Parameters.ts"
import { isEqualTo } from "#http/SecretComparison.ts"
import type { OpenSession } from "#http/Sessions.ts"
import { tokenField } from "./Forms.ts"

/** Rejects a form of another origin. Browsers name the origin of every POST; programs without both headers are no browsers. */
export const checkOrigin = (
  request: Pick<HttpServerRequest, "headers">,
  baseUrl: string
): Effect.Effect<void, HttpRejection> => isSameOrigin(request, baseUrl) ? Effect.void : Effect.fail(otherOrigin)

/** Rejects a form without the token of its session. */
export const checkForm = (form: Parameters, { formToken }: OpenSession): Effect.Effect<void, HttpRejection> =>
  isEqualTo(formToken)(form.all(tokenField)[0] ?? "") ? Effect.void : Effect.fail(outdated)

const otherOrigin = crossSite("This form comes from another site. Open the page here, and send its own form.")

const outdated = crossSite("This form belongs to another session. Look at the values, and send it again.")
