import { Data } from "effect"

/** An address cannot be listened on; `message` says why and which setting helps. */
export class ListenError extends Data.TaggedError("ListenError")<{ readonly message: string }> {}

/** An address to listen on, and the variables that set its parts. */
export interface Place {
  readonly host: string
  readonly port: number
  readonly hostVariable: string
  readonly portVariable: string
}

/** What Node's error means for this place. */
export const listenError = ({ host, hostVariable, port, portVariable }: Place, cause: unknown): ListenError => {
  const { code, message } = cause as NodeJS.ErrnoException
  switch (code) {
    case "EADDRINUSE":
      return new ListenError({
        message: `Port ${port} of ${host} is taken: something else listens there, perhaps another Windhover. `
          + `Stop it, or set ${portVariable} to another port.`
      })
    case "EACCES":
      return new ListenError({
        message: `Who runs this may not listen on port ${port} of ${host}. Set ${portVariable} to one above 1023.`
      })
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new ListenError({
        message:
          `${hostVariable} names the host ${JSON.stringify(host)}, which is no address of this machine (${code}); `
          + "one that it has is needed, such as 127.0.0.1."
      })
    default:
      return new ListenError({
        message: `Port ${port} of ${host} cannot be listened on (${message}). Look at ${
          [...new Set([hostVariable, portVariable])].join(" and ")
        }.`
      })
  }
}
