import { parseArgs, type ParseArgsOptionsConfig } from "node:util"

/** The options of a script. `--help` prints its usage and ends it; an option that it does not know is told with the usage, exit code 1. */
export const optionsOf = <const O extends ParseArgsOptionsConfig>(usage: string, options: O) => {
  if (process.argv.slice(2).some((word) => word === "--help" || word === "-h")) {
    process.stdout.write(`${usage}\n`)
    process.exit(0)
  }
  try {
    return parseArgs({ options }).values
  } catch (error) {
    return failed(`${error instanceof Error ? error.message : String(error)}\n${usage}`)
  }
}

/** Ends the script with a sentence about what it was given. */
export const failed = (sentence: string): never => {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}
