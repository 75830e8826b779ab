/** The error state of a resource. */
export interface Health {
  readonly inError: boolean
  /** Failed fetches in a row. */
  readonly failures: number
}

export const healthy: Health = { inError: false, failures: 0 }

/**
 * Records a failed fetch or an unreadable document. Only the failure that enters the error state is announced.
 *
 * The first failure after a success is tolerated if the resource was read before (`proven`), because servers have short faults.
 */
export const recordFailure = (
  health: Health,
  proven: boolean
): { readonly health: Health; readonly announced: boolean; readonly isTolerated: boolean } => {
  const isTolerated = proven && !health.inError && health.failures === 0
  return {
    health: { inError: !isTolerated, failures: health.failures + 1 },
    announced: !isTolerated && !health.inError,
    isTolerated
  }
}
