import { Schema } from "effect"

/** The server cannot listen on its address. `message` gives the reason and the setting to change. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  reason: Schema.Literals(["PortTaken", "Forbidden", "ForeignAddress", "Other"]),
  message: Schema.String
}) {}

/** An address to listen on, and the variables that configure its parts. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
  readonly hostVariable: string
  readonly portVariable: string
}

/** Explains Node's error for this address. */
export const toListenError = (
  { host, hostVariable, port, portVariable }: ListenAddress,
  cause: unknown
): ListenError => {
  const { code, message } = cause as NodeJS.ErrnoException
  switch (code) {
    case "EADDRINUSE":
      return new ListenError({
        reason: "PortTaken",
        message: `Port ${port} of ${host} is taken: another program listens there, perhaps another Windhover. `
          + `Stop that program, or set ${portVariable} to another port.`
      })
    case "EACCES":
      return new ListenError({
        reason: "Forbidden",
        message: `This user may not listen on port ${port} of ${host}. Set ${portVariable} to a port above 1023.`
      })
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new ListenError({
        reason: "ForeignAddress",
        message: `${hostVariable} names the host ${JSON.stringify(host)}, which is not an address of this machine `
          + `(${code}). Set an address of this machine, such as 127.0.0.1.`
      })
    default:
      return new ListenError({
        reason: "Other",
        message: `Windhover cannot listen on port ${port} of ${host} (${message}). Check ${
          [...new Set([hostVariable, portVariable])].join(" and ")
        }.`
      })
  }
}
