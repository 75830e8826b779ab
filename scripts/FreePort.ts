import { once } from "node:events"
import { createServer } from "node:net"

/** Ports below the ports that systems assign (from 32768 on under Linux), and above the ports of well-known services. */
const [firstPort, slices, portsPerSlice] = [20_000, 120, 100] as const

/** Each process starts at another port, so that two processes do not find the same free port. */
let next = (process.pid % slices) * portsPerSlice

/**
 * Returns a free TCP port of loopback, a different one at each call.
 *
 * The port stays free until its server starts, and during a restart. A port assigned by the system could go to another server on port 0, or
 * to the near end of a connection.
 */
export const freePort = async (): Promise<number> => {
  for (let attempt = 0; attempt < slices * portsPerSlice; attempt++) {
    const port = firstPort + next++ % (slices * portsPerSlice)
    if (await isFree(port)) return port
  }
  throw new Error(`All ports from ${firstPort} to ${firstPort + slices * portsPerSlice - 1} of 127.0.0.1 are taken.`)
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
