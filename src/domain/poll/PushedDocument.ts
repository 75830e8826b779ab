/** A document from its publisher with a ping, or from the publisher's hub. */
export interface PushedDocument {
  readonly contentType: string
  readonly body: Uint8Array
}
