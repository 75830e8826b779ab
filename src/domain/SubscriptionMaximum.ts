import { countOf } from "#domain/Count.ts"

/** The maximum of subscriptions that an operator sets for an account, as a refusal names it. */
export const tooManySentence = (maximum: number): string =>
  `Your account can have at most ${
    countOf(maximum, "subscription")
  }. Unsubscribe some, or ask the operator of this service for a higher limit.`
