import { Effect, Schema } from "effect"
import { randomBytes } from "node:crypto"
import type { Hub } from "#actors/operations/Hub.ts"
import { Secrets } from "#actors/operations/Secrets.ts"
import { generatedKeyBytes, secretOf } from "#domain/delivery/WebhookSecret.ts"
import type { AccountStore } from "#domain/ports/AccountStore.ts"
import { secretGrace } from "#http/ParameterSchemas.ts"
import { accountRoutes } from "./AccountRoutes.ts"
import * as Field from "./Fields.ts"
import { makeRoute, type ManagementRoute } from "./ManagementRoute.ts"

/** Default time of grace: a day, as Standard Webhooks advises. */
const defaultGraceSeconds = 24 * 3_600

const rotateSecret = makeRoute({
  method: "POST",
  path: "/api/rotate-secret",
  right: "subscribe",
  group: "Secrets",
  summary: "Replaces the secret of a subscription; the old one signs beside the new one for a while",
  input: Schema.Struct({
    ...Field.subscriptionName,
    secret: Field.optional(
      Schema.String.check(Schema.isMinLength(1)).annotate({
        description: "The new secret; without it, a whsec_ secret of 32 random bytes.",
        expected: "a text of at least one character"
      })
    ),
    grace: Field.optional(
      Field.integer(
        secretGrace.minimum,
        secretGrace.maximum,
        `Seconds for which the old secret also signs; ${defaultGraceSeconds} by default.`
      )
    )
  }),
  output: Schema.Struct({
    subscription: Schema.Int,
    secret: Field.optional(
      Schema.String.annotate({ description: "The generated secret. Absent if the request has the secret." })
    ),
    previousUntil: Field.optional(Field.time)
  }),
  run: Effect.fnUntraced(function*({ grace = defaultGraceSeconds, secret, ...name }, { caller }) {
    const wanted = secret ?? secretOf(randomBytes(generatedKeyBytes))
    const { previousUntil, subscription } = yield* Secrets.use((secrets) =>
      secrets.rotate({ caller, ...name, secret: wanted, graceSeconds: grace })
    )
    return {
      subscription,
      ...(secret === undefined && { secret: wanted }),
      ...(previousUntil !== undefined && { previousUntil: Field.formatTime(previousUntil) })
    }
  })
})

/** The routes of secrets, and of the accounts that own them. */
export const secretRoutes: ReadonlyArray<ManagementRoute<Secrets | AccountStore | Hub>> = [
  rotateSecret,
  ...accountRoutes
]
