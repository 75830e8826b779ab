import { assert, it } from "@effect/vitest"
import { withSettings } from "#scripts/Environment.ts"

it("gives none of the shell's settings to a service that is started for a demo, a benchmark or a test", () => {
  const shell = {
    PATH: "/bin",
    WINDHOVER_NODE: "/opt/node",
    WINDHOVER_DATABASE_URL: "postgres://real",
    WINDHOVER_PORT: "80"
  }
  assert.deepStrictEqual(withSettings({ WINDHOVER_PORT: "0" }, shell), {
    PATH: "/bin",
    WINDHOVER_NODE: "/opt/node",
    WINDHOVER_PORT: "0"
  })
})
