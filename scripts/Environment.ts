/**
 * The environment of a Windhover that a demo, a benchmark or a test starts: the settings that are given, and none of the shell's.
 *
 * Whoever has `WINDHOVER_DATABASE_URL` set for a service of their own would have it written to. `WINDHOVER_NODE` stays: it is no setting,
 * but says which Node runs the sources.
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
