import { Schema } from "effect"

/** The server cannot listen on its address. `code` is the code of Node's error. `message` gives the reason and the setting to change. */
export class ListenError extends Schema.TaggedError<ListenError>()("ListenError", {
  code: Schema.String,
  message: Schema.String
}) {}

/** An address to listen on, and the variables that configure its parts. */
export interface ListenAddress {
  readonly host: string
  readonly port: number
  readonly hostVariable: string
  readonly portVariable: string
}

export const toListenError = (address: ListenAddress, cause: unknown): ListenError => {
  const { code = "", message } = cause as NodeJS.ErrnoException
  return new ListenError({ code, message: explain(address, code, message) })
}

const explain = ({ host, hostVariable, port, portVariable }: ListenAddress, code: string, message: string): string => {
  switch (code) {
    case "EADDRINUSE":
      return `Port ${port} of ${host} is taken: another program listens there, perhaps another Windhover. `
        + `Stop that program, or set ${portVariable} to another port.`
    case "EACCES":
      return `This user may not listen on port ${port} of ${host}. Set ${portVariable} to a port above 1023.`
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${hostVariable} names the host ${JSON.stringify(host)}, which is not an address of this machine `
        + `(${code}). Set an address of this machine, such as 127.0.0.1.`
    default:
      return `Windhover cannot listen on port ${port} of ${host} (${message}). Check ${
        [...new Set([hostVariable, portVariable])].join(" and ")
      }.`
  }
}
