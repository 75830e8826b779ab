// How long documents that attack a reader take, and how much comes out of them.
//   bin/node scripts/hostile.ts
// Milliseconds of CPU, the best of some runs. Exit 1 when one takes more than 100 ms, or says more than ten times what it is long.
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { documents } from "./feeds/Hostile.ts"

const RUNS = 10
const MOST_MILLISECONDS = 100
const MOST_GROWTH = 10

const milliseconds = (work: () => unknown): number => {
  const started = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(started)
  return (user + system) / 1000
}

const lengthOf = (value: unknown): number =>
  JSON.stringify(value, (_, one: unknown) => typeof one === "bigint" ? String(one) : one).length

let bad = 0
for (const [attack, document] of Object.entries(documents)) {
  const bytes = new TextEncoder().encode(document())
  const took = Math.min(...Array.from({ length: RUNS }, () => milliseconds(() => readFeed(bytes))))
  const growth = lengthOf(readFeed(bytes)) / bytes.length
  if (took > MOST_MILLISECONDS || growth > MOST_GROWTH) bad++
  console.log(
    `${attack.padEnd(50)} ${(bytes.length / 1000).toFixed(0).padStart(6)} kB ${took.toFixed(1).padStart(7)} ms, ${
      growth.toFixed(2)
    } of its length comes out`
  )
}
process.exitCode = bad > 0 ? 1 : 0
