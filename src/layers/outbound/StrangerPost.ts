import { networksOf } from "#domain/limits/IpNetwork.ts"
import type { Consent } from "#domain/ports/Deliverer.ts"
import { CallbackRequest, type CallbackRequestOptions, type CallbackResponse } from "./CallbackRequest.ts"
import type { DnsResolver } from "./DnsResolver.ts"
import type { HostTurn, HostTurns } from "./HostTurns.ts"
import type { HttpRequest } from "./HttpExchange.ts"
import { NetworkError, type NetworkErrorReason } from "./NetworkError.ts"

export interface StrangerPostOptions extends CallbackRequestOptions {
  readonly resolver: DnsResolver
  readonly hostTurns: HostTurns
}

/** `isElsewhere`: the callback's name leads to another network than the ones that agreed. */
export interface StrangerPostHandler {
  readonly onResponse: (response: CallbackResponse, isElsewhere?: boolean) => void
  readonly onFailure: (failure: NetworkError, isElsewhere?: boolean) => void
}

/**
 * A delivery to the callback of a stranger, who may have pointed its name at a victim since the callback agreed.
 *
 *   name ──► a network that agreed ──────────────────────────────► sent
 *     └────► another network ──► `mayIntroduce` ──► turns of its address, as for fetches ──► sent
 *                         └────► otherwise ─────► fails with `Moved`, before the connection
 */
export class StrangerPost {
  readonly #options: StrangerPostOptions
  readonly #request: HttpRequest
  readonly #consent: Consent
  readonly #handler: StrangerPostHandler
  #post: CallbackRequest | undefined
  #turn: HostTurn | undefined
  #isElsewhere = false
  #isOver = false

  constructor(options: StrangerPostOptions, request: HttpRequest, consent: Consent, handler: StrangerPostHandler) {
    this.#options = options
    this.#request = request
    this.#consent = consent
    this.#handler = handler
  }

  start(): void {
    const { hostname } = this.#request.url
    if (networksOf(hostname) !== undefined) return this.#startAt([hostname])
    this.#options.resolver.resolve(hostname).then(
      (addresses) => this.#startAt(addresses.map(({ address }) => address)),
      // The exchange itself reports a name that cannot be resolved.
      () => this.#send()
    )
  }

  /** Ends the delivery without a result, for an interrupted fiber. */
  abandon(): void {
    this.#isOver = true
    this.#post?.abandon()
    this.#turn?.leave()
  }

  #startAt(addresses: ReadonlyArray<string>): void {
    if (addresses.some((address) => this.#isAgreed(address))) this.#send()
    else this.#introduce()
  }

  #isAgreed(address: string): boolean {
    const network = networksOf(address)?.customer
    return network !== undefined && this.#consent.isAgreed(network)
  }

  /** Sends to a network that has not agreed yet, in turn. */
  #introduce(): void {
    if (this.#isOver) return
    this.#isElsewhere = true
    const { hostname } = this.#request.url
    if (!this.#consent.mayIntroduce) return this.#fail(new NetworkError("Moved", hostname, moved.text))
    this.#turn = this.#options.hostTurns.enter(hostname, "strangers", {
      onStart: () => this.#send(),
      onFull: () => this.#fail(new NetworkError("Timeout", hostname, "not sent, because many requests wait for it"))
    })
  }

  #send(): void {
    if (this.#isOver) return
    const request = { ...this.#request, confirmSend: (server: string | undefined) => this.#explainWithdrawal(server) }
    this.#post = new CallbackRequest(this.#options, request, {
      onResponse: (response) => this.#end(() => this.#handler.onResponse(response, this.#isElsewhere)),
      onFailure: (failure) =>
        // A name can have addresses of several networks.
        failure.reason._tag === "Moved" ? this.#introduce() : this.#fail(failure)
    })
    this.#post.start()
  }

  #explainWithdrawal(server: string | undefined): NetworkErrorReason | undefined {
    const reason = this.#request.confirmSend?.(server)
    if (reason !== undefined || this.#isElsewhere || server === undefined) return reason
    return this.#isAgreed(server) ? undefined : moved
  }

  #fail(failure: NetworkError): void {
    this.#end(() => this.#handler.onFailure(failure, this.#isElsewhere))
  }

  #end(report: () => void): void {
    this.#isOver = true
    this.#turn?.leave()
    report()
  }
}

const moved: NetworkErrorReason = {
  _tag: "Moved",
  text:
    "its name leads to another network than the one that agreed; the callback is asked again before the next attempt"
}
