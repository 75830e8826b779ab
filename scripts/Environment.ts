/**
 * The environment of a Windhover for a demo, a benchmark or a test: only the given settings, and none from the shell.
 *
 * A `WINDHOVER_DATABASE_URL` of the shell would expose a real database to the test. `WINDHOVER_NODE` stays, because this variable is not a
 * setting: it selects the Node that runs the sources.
 */
export const withSettings = (
  settings: Readonly<Record<string, string>>,
  shell: NodeJS.ProcessEnv = process.env
): NodeJS.ProcessEnv => ({
  ...Object.fromEntries(
    Object.entries(shell).filter(([name]) => !name.startsWith("WINDHOVER_") || name === "WINDHOVER_NODE")
  ),
  ...settings
})
