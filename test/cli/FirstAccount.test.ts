import { assert, it } from "@effect/vitest"
import { makeLocalUrl } from "#main/cli/FirstAccount.ts"

it("a service is told of where it is reached from its own machine", () => {
  const hosts = ["0.0.0.0", "::", "127.0.0.1", "localhost", "10.0.0.7", "::1", "push.example"]
  assert.deepStrictEqual(hosts.map((host) => makeLocalUrl(host, 8080)), [
    "http://localhost:8080",
    "http://localhost:8080",
    "http://localhost:8080",
    "http://localhost:8080",
    "http://10.0.0.7:8080",
    "http://[::1]:8080",
    "http://push.example:8080"
  ])
})
