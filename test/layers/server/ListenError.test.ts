import { assert, it } from "@effect/vitest"
import { toListenError } from "#layers/server/ListenError.ts"

const variable = "WINDHOVER_RUNNER_ADDRESS"
const messageOf = (code: string) =>
  toListenError(
    { host: "10.0.0.7", port: 90, hostVariable: variable, portVariable: variable },
    Object.assign(new Error(`listen ${code} 10.0.0.7:90`), { code })
  ).message

it("gives the reason why the server cannot listen, and the setting to change", () => {
  const foreignAddress = (code: string) =>
    `WINDHOVER_RUNNER_ADDRESS names the host "10.0.0.7", which is not an address of this machine (${code}). `
    + "Set an address of this machine, such as 127.0.0.1."
  assert.strictEqual(
    messageOf("EADDRINUSE"),
    "Port 90 of 10.0.0.7 is taken: another program listens there, perhaps another Windhover. "
      + "Stop that program, or set WINDHOVER_RUNNER_ADDRESS to another port."
  )
  assert.strictEqual(
    messageOf("EACCES"),
    "This user may not listen on port 90 of 10.0.0.7. Set WINDHOVER_RUNNER_ADDRESS to a port above 1023."
  )
  for (const code of ["EADDRNOTAVAIL", "ENOTFOUND", "EAI_AGAIN"]) {
    assert.strictEqual(messageOf(code), foreignAddress(code))
  }
  assert.strictEqual(
    messageOf("EMFILE"),
    "Windhover cannot listen on port 90 of 10.0.0.7 (listen EMFILE 10.0.0.7:90). "
      + "Check WINDHOVER_RUNNER_ADDRESS."
  )
})
