import { assert, describe, it, vi } from "@effect/vitest"
import net from "node:net"
import { anyAddress } from "#layers/outbound/AddressGuard.ts"
import * as GuardedConnector from "#layers/outbound/GuardedConnector.ts"
import * as TimerWheel from "#layers/TimerWheel.ts"

describe("GuardedConnector", () => {
  it("tries each address for 3 s, because Node's 250 ms are too short for distant servers", () => {
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
