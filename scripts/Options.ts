import { parseArgs, type ParseArgsOptionsConfig } from "node:util"

/** Parses the options of a script. `--help` prints the usage; an unknown option prints the error and the usage, with exit code 1. */
export const parseOptions = <const O extends ParseArgsOptionsConfig>(usage: string, options: O) => {
  if (process.argv.slice(2).some((word) => word === "--help" || word === "-h")) {
    process.stdout.write(`${usage}\n`)
    process.exit(0)
  }
  try {
    return parseArgs({ options }).values
  } catch (error) {
    return exitWithError(`${error instanceof Error ? error.message : String(error)}\n${usage}`)
  }
}

/** Ends the script with a sentence about its input. */
export const exitWithError = (sentence: string): never => {
  process.stderr.write(`${sentence}\n`)
  process.exit(1)
}
