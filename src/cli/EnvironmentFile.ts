/** Reads settings from the file that `WINDHOVER_ENV_FILE` names. A variable of the environment replaces the same variable of the file. */
export const loadEnvironmentFile = (): void => {
  const file = process.env["WINDHOVER_ENV_FILE"]
  if (file === undefined || file === "") return
  try {
    process.loadEnvFile(file)
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    process.stderr.write(
      `windhover: WINDHOVER_ENV_FILE names ${JSON.stringify(file)}, which cannot be read (${reason}). `
        + "Name a file with a line NAME=VALUE for each setting; 'windhover settings --env' prints one.\n"
    )
    process.exit(1)
  }
}
