import { once } from "node:events"
import { createServer } from "node:net"

/** Below the ports that systems give to who asks for any (on Linux from 32768 on), above those of well-known services. */
const [first, slices, slice] = [20_000, 120, 100] as const

/** Each process begins elsewhere, so that two of them do not find the same port free at the same time. */
let next = (process.pid % slices) * slice

/**
 * A TCP port of loopback that nobody listens on, another one each time.
 *
 * It stays free until it is used, and while its server is being started again. One that the system had chosen could meanwhile be given to
 * anybody: to a server on port 0, or to the near end of a connection.
 */
export const freePort = async (): Promise<number> => {
  for (let tried = 0; tried < slices * slice; tried++) {
    const port = first + next++ % (slices * slice)
    if (await isFree(port)) return port
  }
  throw new Error(`All ports from ${first} to ${first + slices * slice - 1} of 127.0.0.1 are taken.`)
}

const isFree = async (port: number): Promise<boolean> => {
  const server = createServer().listen(port, "127.0.0.1")
  try {
    await once(server, "listening")
  } catch {
    return false
  }
  server.close()
  await once(server, "close")
  return true
}
