import { availableParallelism } from "node:os"
import { defineConfig } from "vitest/config"
import { ClosingLine } from "./test/support/ClosingLine.ts"

const ci = process.env["CI"] === "true"

export default defineConfig({
  test: {
    include: ["test/**/*.test.ts"],
    environment: "node",
    globalSetup: ["test/support/PostgresBroker.ts"],

    // Node loads the sources as it does in service, by type stripping and package.json's imports: nothing is transformed for tests.
    experimental: { viteModuleRunner: false },

    // Processes, since tests kill some and listen to signals. Files share them, which is five times quicker than one for each file:
    // a test leaves nothing behind. `npm test -- --isolate` finds the one that does.
    pool: "forks",
    isolate: false,
    maxWorkers: Math.max(2, availableParallelism() - 1),

    // A busy machine is no failure; a test that hangs is found all the same. What a test promises about time it says in an assertion, and
    // no test has a shorter limit of its own.
    testTimeout: 600_000,
    hookTimeout: 600_000,
    teardownTimeout: 60_000,
    slowTestThreshold: 1000,
    allowOnly: !ci,
    reporters: ci ? ["default", new ClosingLine()] : ["default"],

    // Far from UTC by an odd amount, so that a date read or written in local time is seen.
    env: { TZ: "Asia/Kathmandu" }
  }
})
