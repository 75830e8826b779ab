/** A document that its publisher, or the publisher's hub, sent along with a ping. */
export interface PushedDocument {
  readonly contentType: string
  readonly body: Uint8Array
}
