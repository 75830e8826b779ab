import { execFileSync, spawnSync } from "node:child_process"

/** True on a machine with Debian's `prometheus`. In CI its absence fails the tests. */
export const hasPromtool = process.env["CI"] === "true" || spawnSync("promtool", ["--version"]).status === 0
if (!hasPromtool) console.warn("promtool is missing (Debian's package prometheus): the alert rules are not tested.")

export const promtool = (args: ReadonlyArray<string>, input = "") =>
  execFileSync("promtool", args, { input, encoding: "utf8" })
