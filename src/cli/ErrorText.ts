import { findMessage } from "#domain/ErrorMessage.ts"

/** An expected failure of a command. */
export interface TaggedFailure {
  readonly _tag: string
  readonly message: string
}

/**
 * Describes a failure in one sentence, never with an empty text.
 *
 * An error without a message gives the first message of its causes. Without any message, the sentence names the tag and the fields.
 */
export const describeFailure = (error: TaggedFailure): string => {
  const message = error.message.trim()
  if (message !== "") return message
  const causeMessage = findMessage(error)
  return causeMessage === undefined ? describeFields(error) : `${error._tag}: ${causeMessage}`
}

const describeFields = (error: TaggedFailure): string => {
  const fields = Object.entries(error)
    .filter(([name, value]) => name !== "_tag" && isPlain(value))
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
  return `The command failed with ${error._tag}${
    fields.length === 0 ? "" : ` (${fields.join(", ")})`
  }, without a reason.`
}

/** Objects are left out, because they may hold secrets. */
const isPlain = (value: unknown): boolean => (typeof value === "string" && value !== "") || typeof value === "number"
