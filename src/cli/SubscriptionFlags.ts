import type { Option } from "effect"
import { Flag } from "effect/cli"
import { givenFlags } from "./RemoteService.ts"

/** Names a subscription by its id, or by topic and callback. */
export const subscriptionFlags = {
  subscription: Flag.Int("subscription").pipe(Flag.withDescription("Id of the subscription"), Flag.optional),
  topic: Flag.String("topic").pipe(
    Flag.withDescription("URL of the resource, with --callback instead of --subscription"),
    Flag.optional
  ),
  callback: Flag.String("callback").pipe(
    Flag.withDescription("URL of the webhook, with --topic"),
    Flag.optional
  )
}

interface SubscriptionFlags {
  readonly subscription: Option.Option<number>
  readonly topic: Option.Option<string>
  readonly callback: Option.Option<string>
}

/** The name as parameters of the management API. */
export const nameOf = ({ callback, subscription, topic }: SubscriptionFlags) =>
  givenFlags({ subscription, topic, callback })
