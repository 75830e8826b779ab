/** Maximum of causes that are searched for a message. */
const maxCauses = 8

/** The first message of an error and its causes; undefined without any. */
export const findMessage = (error: unknown): string | undefined => {
  let cause = error
  for (let depth = 0; cause instanceof Error && depth < maxCauses; depth++) {
    const message = cause.message.trim()
    if (message !== "") return message
    cause = cause.cause
  }
  return typeof cause === "string" && cause.trim() !== "" ? cause.trim() : undefined
}
