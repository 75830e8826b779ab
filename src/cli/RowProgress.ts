/** Time between two lines, in ms. */
const intervalMs = 200

/** A progress line on a terminal; nothing on another output. */
export const makeRowProgress = (unit: string) => {
  let shownAt = 0
  const isTerminal = process.stderr.isTTY
  return {
    report: (done: number, total: number): void => {
      const now = performance.now()
      if (!isTerminal || now - shownAt < intervalMs) return
      shownAt = now
      process.stderr.write(`\r${done.toLocaleString("en")} of ${total.toLocaleString("en")} ${unit}\u001b[K`)
    },
    /** Removes the line. */
    clear: (): void => {
      if (shownAt > 0) process.stderr.write("\r\u001b[K")
    }
  }
}
