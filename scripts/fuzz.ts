// Damages feeds at random and reads them: nothing may throw, hang, or be lost beyond what was hit.
//   npm run fuzz -- [--seed N] [--rounds N]      (default: the time as seed, 1000 rounds for each damage)
// Prints the seed first. Exit 1 with what was found: the seed and round give it again.
import { parseArgs } from "node:util"
import { assess, type Finding, kinds, total } from "./feeds/Fuzz.ts"

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Date.now() % 1_000_000) },
    rounds: { type: "string", default: "1000" }
  }
})
const seed = Number(values.seed)
console.log(`seed ${seed}, ${values.rounds} rounds for each damage`)

const MOST_MILLISECONDS = 250
let slowest = 0
const findings: Array<Finding> = []
for (const kind of kinds) {
  const sums = total(assess(kind, seed, Number(values.rounds)))
  findings.push(...sums.findings)
  slowest = Math.max(slowest, sums.slowest)
  console.log(
    `${kind.padEnd(9)} ids found ${(100 * sums.found / sums.present).toFixed(2)} % of ${sums.present}, slowest ${
      sums.slowest.toFixed(1)
    } ms, findings ${sums.findings.length}`
  )
}
if (slowest > MOST_MILLISECONDS) console.log(`the slowest took more than ${MOST_MILLISECONDS} ms`)
for (const { kind, round, what } of findings.slice(0, 20)) console.log(`--seed ${seed} ${kind} round ${round}: ${what}`)
process.exitCode = findings.length > 0 || slowest > MOST_MILLISECONDS ? 1 : 0
