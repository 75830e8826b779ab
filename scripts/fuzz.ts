// Damages feeds at random and reads the result. A reader must not throw, hang, or lose undamaged entries.
//   npm run fuzz -- [--seed N] [--rounds N]      (default: the time as seed, 1000 rounds for each damage)
// Prints the seed first. Exits with 1 after a finding; seed and round reproduce the finding.
import { parseArgs } from "node:util"
import { assess, damageKinds, type Finding, sumUp } from "./feeds/Fuzz.ts"

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    rounds: { type: "string", default: "1000" }
  }
})
const seed = Number(values.seed)
console.log(`seed ${seed}, ${values.rounds} rounds for each damage`)

const maxMilliseconds = 250
let slowest = 0
const findings: Array<Finding> = []
for (const kind of damageKinds) {
  const sums = sumUp(assess(kind, seed, Number(values.rounds)))
  findings.push(...sums.findings)
  slowest = Math.max(slowest, sums.slowest)
  console.log(
    `${kind.padEnd(9)} ids found ${(100 * sums.found / sums.present).toFixed(2)} % of ${sums.present}, slowest ${
      sums.slowest.toFixed(1)
    } ms, findings ${sums.findings.length}`
  )
}
if (slowest > maxMilliseconds) console.log(`the slowest document took more than ${maxMilliseconds} ms`)
for (const { kind, round, what } of findings.slice(0, 20)) console.log(`--seed ${seed} ${kind} round ${round}: ${what}`)
process.exitCode = findings.length > 0 || slowest > maxMilliseconds ? 1 : 0
