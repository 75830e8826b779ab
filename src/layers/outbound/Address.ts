/** An IP address, as the resolver finds and the connector dials it. */
export interface Address {
  readonly address: string
  readonly family: 4 | 6
}
