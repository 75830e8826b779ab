/** Sentences for responses that break HTTP, as the end of `host: …`. The list is closed: subscribers read these sentences in a status. */
export const responseFaults = {
  statusLine: "the answer does not begin with an HTTP status line",
  protocolSwitch: "the answer switches to another protocol (101)",
  informational: "endless informational answers (1xx)",
  headerSize: "the header fields of the answer are too large",
  headerCount: "the answer has more than 500 header fields",
  framingField: "the Content-Length or Transfer-Encoding of the answer has a control character",
  contentLengths: "the answer has two different Content-Lengths",
  chunkSize: "the size of a chunk of the answer is no hexadecimal number",
  chunkLine: "the extensions of the answer's chunks are too long",
  incomplete: "the connection was closed before the answer was complete",
  unreadable: "the answer is not readable as HTTP"
} as const

export type ResponseFault = keyof typeof responseFaults

/** Bytes of a response's header fields. Node's 16 kB is less than some sites' Content-Security-Policy. */
export const maxHeaderBytes = 64 * 1024

/** `responseFaults` repeats this number. */
export const maxHeaderFields = 500

/** Informational responses (1xx) before the final response. */
export const maxInformational = 10
