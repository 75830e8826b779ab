import { assert, it } from "@effect/vitest"
import { listenError } from "#layers/server/ListenError.ts"

const variable = "WINDHOVER_RUNNER_ADDRESS"
const said = (code: string) =>
  listenError(
    { host: "10.0.0.7", port: 90, hostVariable: variable, portVariable: variable },
    Object.assign(new Error(`listen ${code} 10.0.0.7:90`), { code })
  ).message

it("says why an address cannot be listened on, and which setting helps", () => {
  const nowhere = (code: string) =>
    `WINDHOVER_RUNNER_ADDRESS names the host "10.0.0.7", which is no address of this machine (${code}); `
    + "one that it has is needed, such as 127.0.0.1."
  assert.strictEqual(
    said("EADDRINUSE"),
    "Port 90 of 10.0.0.7 is taken: something else listens there, perhaps another Windhover. "
      + "Stop it, or set WINDHOVER_RUNNER_ADDRESS to another port."
  )
  assert.strictEqual(
    said("EACCES"),
    "Who runs this may not listen on port 90 of 10.0.0.7. Set WINDHOVER_RUNNER_ADDRESS to one above 1023."
  )
  for (const code of ["EADDRNOTAVAIL", "ENOTFOUND", "EAI_AGAIN"]) assert.strictEqual(said(code), nowhere(code))
  assert.strictEqual(
    said("EMFILE"),
    "Port 90 of 10.0.0.7 cannot be listened on (listen EMFILE 10.0.0.7:90). "
      + "Look at WINDHOVER_RUNNER_ADDRESS."
  )
})
