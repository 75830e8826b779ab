/** Checks an optional program: a developer gets a warning, but CI fails. */
export const available = (what: string, look: Promise<unknown>): Promise<boolean> =>
  look.then(() => true, (error: unknown) => {
    if (process.env["CI"] === "true") throw error
    console.warn(`\n!! The tests with ${what} are SKIPPED: it cannot be had here.\n${String(error)}\n`)
    return false
  })
