import { type ChildProcess, execFile, execFileSync, spawn } from "node:child_process"
import { randomBytes } from "node:crypto"
import { once } from "node:events"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { promisify } from "node:util"
import { freePort } from "#scripts/FreePort.ts"

/**
 * A real PostgreSQL server for one test: in a temporary directory, on a free port of loopback, removed at its stop.
 *
 * The server uses Debian's binaries, and runs as `nobody` when the tests run as root, because PostgreSQL rejects root. Without fsync, data
 * survives a kill of the processes, which tests need, but not a crash of the machine.
 */
export interface PostgresServer {
  readonly directory: string
  readonly url: (database: string) => string
  /** Runs statements as the superuser and returns unaligned rows. */
  readonly run: (database: string, statements: string) => Promise<string>
  /** Kills all processes of the server, as a crash would. */
  readonly kill: () => Promise<void>
  /** Sends a signal to all processes of the server at once. */
  readonly signal: (signal: "SIGSTOP" | "SIGCONT") => void
  /** Restarts the server on the same port after `kill`. */
  readonly start: () => Promise<void>
  readonly stop: () => Promise<void>
}

const user = "windhover"

/** Directory of the newest installed server's binaries. */
export const findBinaries = (root = "/usr/lib/postgresql"): string | undefined => {
  const versions = fs.existsSync(root) ? fs.readdirSync(root).map(Number).filter(Number.isInteger) : []
  const newest = versions.toSorted((a, b) => b - a).find((version) => fs.existsSync(`${root}/${version}/bin/postgres`))
  return newest === undefined ? undefined : `${root}/${newest}/bin`
}

export const startServer = async (binaries: string): Promise<PostgresServer> => {
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), "windhover-postgres-"))
  const owner = unprivileged()
  if (owner !== undefined) fs.chownSync(directory, owner.uid, owner.gid)
  const data = path.join(directory, "data")
  const password = randomBytes(12).toString("hex")
  initialize(binaries, directory, data, password, owner)
  const port = await freePort()
  let child: ChildProcess | undefined

  const run = async (database: string, statements: string) => {
    const { stdout } = await promisify(execFile)(
      `${binaries}/psql`,
      [
        "-XqAt",
        "-v",
        "ON_ERROR_STOP=1",
        "-h",
        directory,
        "-p",
        String(port),
        "-U",
        user,
        "-d",
        database,
        "-c",
        statements
      ]
    )
    return stdout.trim()
  }

  const start = async () => {
    child = serve(binaries, directory, data, port, owner)
    await ready(child)
    const found = await run("postgres", "show data_directory")
    if (found !== data) {
      throw new Error(`the server on port ${port} is a stranger: its data are in ${found}, not ${data}`)
    }
  }

  const end = async (signal: "SIGQUIT" | "SIGINT") => {
    if (child === undefined || !isRunning(child)) return
    const exited = once(child, "exit")
    child.kill(signal)
    await exited
  }

  await start()
  return {
    directory,
    url: (database) => `postgres://${user}:${password}@127.0.0.1:${port}/${database}`,
    run,
    signal: (signal) => {
      // first the parent process, which starts the others
      if (child?.pid !== undefined && isRunning(child) && sendSignal(child.pid, signal)) {
        for (const pid of childrenOf(child.pid)) sendSignal(pid, signal)
      }
    },
    kill: () => end("SIGQUIT"), // immediate shutdown: no checkpoint, recovery at the next start
    start,
    stop: async () => {
      await end("SIGINT")
      fs.rmSync(directory, { recursive: true, force: true })
    }
  }
}

const isRunning = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode === null && signalCode === null

/** Signals a process; false when the process has ended. */
export const sendSignal = (pid: number, signal: NodeJS.Signals): boolean => {
  try {
    return process.kill(pid, signal)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false
    throw error
  }
}

const childrenOf = (parent: number): ReadonlyArray<number> =>
  execFileSync("ps", ["-o", "pid=", "--ppid", String(parent)], { encoding: "utf8" }).trim().split(/\s+/).map(Number)

interface Owner {
  readonly uid: number
  readonly gid: number
}

const unprivileged = (): Owner | undefined =>
  process.getuid?.() === 0
    ? { uid: Number(execFileSync("id", ["-u", "nobody"])), gid: Number(execFileSync("id", ["-g", "nobody"])) }
    : undefined

const initialize = (binaries: string, directory: string, data: string, password: string, owner: Owner | undefined) => {
  const secret = path.join(directory, "password")
  fs.writeFileSync(secret, password, { mode: 0o600 })
  if (owner !== undefined) fs.chownSync(secret, owner.uid, owner.gid)
  execFileSync(
    `${binaries}/initdb`,
    [
      `--pgdata=${data}`,
      `--username=${user}`,
      "--encoding=UTF8",
      "--locale=C",
      "--no-sync",
      `--pwfile=${secret}`,
      "--auth-local=trust",
      "--auth-host=scram-sha-256"
    ],
    { ...owner, cwd: directory, stdio: ["ignore", "ignore", "pipe"] }
  )
}

const serve = (binaries: string, directory: string, data: string, port: number, owner: Owner | undefined) => {
  const settings = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: directory,
    port: String(port),
    max_connections: "200",
    shared_buffers: "64MB",
    fsync: "off",
    full_page_writes: "off",
    log_min_messages: "log"
  }
  const command = [`${binaries}/postgres`, "-D", data]
  for (const [name, value] of Object.entries(settings)) command.push("-c", `${name}=${value}`)
  // The kernel stops the server when the test process dies without a cleanup.
  const [program = "", ...words] = ["setpriv", "--pdeathsig", "INT", ...command]
  return spawn(program, words, { ...owner, cwd: directory, stdio: ["ignore", "ignore", "pipe"] })
}

const ready = (child: ChildProcess) =>
  new Promise<void>((resolve, reject) => {
    let log = ""
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      log = (log + text).slice(-4000)
      if (log.includes("ready to accept connections")) resolve()
    })
    child.once("error", reject)
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${log}`)))
  })
