import { Schema } from "effect"
import { signatureMethods } from "#domain/Subscription.ts"
import * as Lease from "#domain/websub/Lease.ts"
import * as Parameter from "#http/ParameterSchemas.ts"

const { optional } = Parameter

/** Maximum bytes of a `hub.secret`: fewer than 200 (WebSub, section 5.1). */
export const maxHubSecretLength = 199

export const signatureSchema = Schema.Literals(signatureMethods).annotate({
  description: "Method of X-Hub-Signature. By default SHA-1, with SHA-256 in a second header."
})

/** A requested lease outside of the granted range is moved to the nearer end. Negative numbers and other text are rejected. */
export const leaseSecondsSchema = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 999_999_999_999_999 }))
  .annotate({
    default: Lease.grantLease(undefined),
    description: `Requested lease in seconds. The hub grants ${Lease.grantLease(0)} to ${
      Lease.grantLease(Infinity)
    } seconds.`
  })

/** Parameters of the open hub by `hub.mode`. The hub ignores other parameters. */
export const hubParameters = {
  subscribe: Schema.Struct({
    "hub.topic": Parameter.topic,
    "hub.callback": Parameter.callback,
    "hub.lease_seconds": optional(leaseSecondsSchema),
    "hub.secret": optional(Parameter.text("Signs the notifications.", maxHubSecretLength)),
    "hub.secret_grace": optional(Parameter.secretGrace.schema),
    "hub.signature": optional(signatureSchema),
    "hub.retry": optional(Parameter.retrySchema),
    ...Parameter.verification
  }),
  unsubscribe: Schema.Struct({
    "hub.topic": Parameter.topic,
    "hub.callback": Parameter.callback,
    ...Parameter.verification
  }),
  publish: Schema.Struct({
    "hub.url": Parameter.text(`${Parameter.publishedUrlDescription} hub.topic is an alternative name.`)
  })
}
