import type { Reporter, TestModule } from "vitest/node"

/** Ends a run with one plain line, `N passed, N failed`, for programs that read the output of CI. */
export class ClosingLine implements Reporter {
  onTestRunEnd(modules: ReadonlyArray<TestModule>, unhandledErrors: ReadonlyArray<unknown>): void {
    const tests = modules.flatMap((module) => [...module.children.allTests()])
    const count = (state: string) => tests.filter((test) => test.result().state === state).length
    // An unreadable file and an error outside of tests count as one failed test each.
    const broken = modules.filter((module) => module.errors().length > 0).length + unhandledErrors.length
    const skipped = count("skipped")
    process.stdout.write(
      `\n${count("passed")} passed, ${count("failed") + broken} failed${skipped > 0 ? `, ${skipped} skipped` : ""}\n`
    )
  }
}
