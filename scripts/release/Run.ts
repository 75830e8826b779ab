import { execFile } from "node:child_process"
import { promisify } from "node:util"

interface Options {
  readonly cwd: string
  readonly env?: Readonly<Record<string, string>>
}

/** Runs a program and returns its output. A failure names the program, and holds the end of its output. */
export const run = async (program: string, args: ReadonlyArray<string>, { cwd, env }: Options): Promise<string> => {
  try {
    const { stdout } = await promisify(execFile)(program, [...args], {
      cwd,
      env: { ...process.env, ...env },
      maxBuffer: 2 ** 26
    })
    return stdout
  } catch (error) {
    const { code, stderr = "", stdout = "" } = error as { code?: string; stderr?: string; stdout?: string }
    if (code === "ENOENT") throw new Error(`A release needs ${program}; install it.`, { cause: error })
    throw new Error(`${program} ${args[0] ?? ""} failed: ${`${stdout}${stderr}`.slice(-2000)}`, { cause: error })
  }
}
