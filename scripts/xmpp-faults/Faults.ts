import { once } from "node:events"
import { setTimeout as sleep } from "node:timers/promises"
import type { Mode } from "./Proxy.ts"
import type { Trial } from "./Trial.ts"

type Runner = Trial["runners"][number]

const between = (trial: Trial, from: number, to: number): number => from + trial.random() * (to - from)

const ownerOf = (trial: Trial): Runner => trial.owner() ?? trial.runners[0]
const otherOf = (trial: Trial): Runner => trial.runners.find((one) => one !== ownerOf(trial)) ?? trial.runners[1]

const kill = async ({ child, start }: Runner): Promise<void> => {
  if (child === undefined) return
  const exit = once(child, "exit")
  child.kill("SIGKILL")
  await exit
  await sleep(3_000)
  await start()
}

/** Stops a process, and continues it. A runner of the cluster loses its locks after 9 s. */
const freeze = async (child: Runner["child"], ms: number): Promise<void> => {
  child?.kill("SIGSTOP")
  await sleep(ms)
  child?.kill("SIGCONT")
}

const network = async (runners: ReadonlyArray<Runner>, mode: Mode, ms: number): Promise<void> => {
  for (const { proxy } of runners) {
    proxy.mode = mode
    if (mode === "refused") proxy.reset()
  }
  await sleep(ms)
  for (const { proxy } of runners) {
    proxy.mode = "open"
    if (mode === "small-packets") proxy.reset()
  }
}

/** The faults of the trial. Each one ends by itself, and leaves a system that works. */
export const faults: Readonly<Record<string, (trial: Trial) => Promise<void>>> = {
  "kill the owner": (trial) => kill(ownerOf(trial)),
  "kill the other runner": (trial) => kill(otherOf(trial)),
  "freeze the owner": (trial) => freeze(ownerOf(trial).child, between(trial, 3_000, 20_000)),
  "freeze the other runner": (trial) => freeze(otherOf(trial).child, between(trial, 3_000, 20_000)),
  "kill the server": async ({ random, server }) => {
    await server.kill()
    await sleep(random() * 8_000)
    await server.start()
  },
  "freeze the server": (trial) => freeze(trial.server.child(), between(trial, 3_000, 40_000)),
  "reset the connections": async ({ runners }) => {
    for (let i = 0; i < 10; i++) {
      for (const { proxy } of runners) proxy.reset()
      await sleep(500)
    }
  },
  "cut off all runners": (trial) => network(trial.runners, "refused", between(trial, 5_000, 30_000)),
  "black hole for all runners": (trial) => network(trial.runners, "black-hole", between(trial, 5_000, 40_000)),
  "cut off the owner": (trial) => network([ownerOf(trial)], "refused", 40_000),
  "black hole for the owner": (trial) => network([ownerOf(trial)], "black-hole", 60_000),
  "only small packets": (trial) => network(trial.runners, "small-packets", 30_000),
  "delays": async (trial) => {
    for (const { proxy } of trial.runners) proxy.delayMs = between(trial, 100, 3_000)
    await sleep(15_000)
    for (const { proxy } of trial.runners) proxy.delayMs = 0
  }
}
