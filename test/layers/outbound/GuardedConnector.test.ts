import { assert, describe, it, vi } from "@effect/vitest"
import net from "node:net"
import { anyAddress } from "#layers/outbound/AddressGuard.ts"
import * as GuardedConnector from "#layers/outbound/GuardedConnector.ts"
import * as TimerWheel from "#layers/outbound/TimerWheel.ts"

describe("Connector", () => {
  it("tries each address for seconds: node's own 250 ms lose a server that is far away", () => {
    const socket = new net.Socket()
    const dialled = vi.spyOn(net, "connect").mockReturnValue(socket)
    const connect = GuardedConnector.make({
      guard: anyAddress,
      resolver: { resolve: () => Promise.resolve([]), close: () => undefined },
      timers: TimerWheel.make()
    })
    try {
      connect(
        { hostname: "far.example", protocol: "http:", port: "" } as Parameters<typeof connect>[0],
        () => undefined
      )
      const [options] = dialled.mock.calls[0] as unknown as ReadonlyArray<net.TcpNetConnectOpts>
      assert.deepStrictEqual([options?.host, options?.autoSelectFamily], ["far.example", true])
      assert.isAtLeast(options?.autoSelectFamilyAttemptTimeout ?? 0, 3_000)
    } finally {
      dialled.mockRestore()
      socket.destroy()
    }
  })
})
