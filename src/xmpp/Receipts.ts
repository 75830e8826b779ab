import type { Element } from "@xmpp/xml"
import { Deferred, Effect } from "effect"
import { renderAttribute } from "#domain/render/Xml.ts"
import * as Jid from "#domain/Jid.ts"
import type { ComponentConfig } from "./ComponentConfig.ts"
import { closed, type ComponentStream, type StreamError } from "./ComponentStream.ts"
import { ns } from "./Namespaces.ts"

/** Time for the server to answer a ping, in ms. */
const receiptTimeoutMs = 30_000

/**
 * Receipts for written stanzas: pings of the server's own domain.
 *
 * The server reads in order. Its answer to a ping therefore proves that the server has read all earlier stanzas.
 */
export class Receipts {
  readonly #from: string
  readonly #to: string
  /** The server's domain in the form for comparisons: the answer may spell the domain differently. */
  readonly #domain: string
  #count = 0
  #open: { readonly id: string; readonly received: Deferred.Deferred<void> } | undefined

  constructor({ component, domain }: ComponentConfig) {
    this.#from = component
    this.#to = domain
    this.#domain = Jid.domainOf(domain)
  }

  /** Writes `text` and a ping. Returns the wait for the answer, which fails when the server does not answer within 30 s. */
  write(stream: ComponentStream, text: string): Effect.Effect<void, StreamError> {
    const id = `fence-${++this.#count}`
    const received = Deferred.makeUnsafe<void>()
    this.#open = { id, received }
    stream.write(
      `${text}<iq type="get"${renderAttribute("from", this.#from)}${renderAttribute("to", this.#to)}${
        renderAttribute("id", id)
      }>` +
        `<ping xmlns="${ns.ping}"/></iq>`
    )
    return Effect.timeoutOrElse(Deferred.await(received), {
      duration: receiptTimeoutMs,
      orElse: () => Effect.fail(closed(`the server did not answer within ${receiptTimeoutMs / 1000} s`))
    })
  }

  /**
   * Returns true when the stanza answers the open ping.
   *
   * An error is an answer, too: the server has read up to the ping. A stranger can guess the id, but cannot send from the server's domain.
   */
  accept({ attrs: { from, id, type }, ...stanza }: Element): boolean {
    if (this.#open === undefined || id !== this.#open.id || (type !== "result" && type !== "error")) return false
    if (stanza.name !== "iq" || from === undefined || Jid.bareOf(from) !== this.#domain) return false
    const { received } = this.#open
    this.#open = undefined // before the waiting fiber resumes, because that fiber opens the next ping
    Deferred.doneUnsafe(received, Effect.void)
    return true
  }
}
