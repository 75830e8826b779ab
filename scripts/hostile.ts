// Measures CPU time and output size of documents that attack a reader.
//   bin/node scripts/hostile.ts
// Prints milliseconds of CPU, the best of 10 runs. Exits with 1 above 100 ms, or above ten times the size of the document.
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { hostileDocuments } from "./feeds/Hostile.ts"

const runs = 10
const maxMilliseconds = 100
const maxGrowth = 10

const milliseconds = (work: () => unknown): number => {
  const started = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(started)
  return (user + system) / 1000
}

const lengthOf = (value: unknown): number =>
  JSON.stringify(value, (_, one: unknown) => typeof one === "bigint" ? String(one) : one).length

let bad = 0
for (const [attack, document] of Object.entries(hostileDocuments)) {
  const bytes = new TextEncoder().encode(document())
  const took = Math.min(...Array.from({ length: runs }, () => milliseconds(() => readFeed(bytes))))
  const growth = lengthOf(readFeed(bytes)) / bytes.length
  if (took > maxMilliseconds || growth > maxGrowth) bad++
  console.log(
    `${attack.padEnd(50)} ${(bytes.length / 1000).toFixed(0).padStart(6)} kB ${took.toFixed(1).padStart(7)} ms, ${
      growth.toFixed(2)
    } of its length comes out`
  )
}
process.exitCode = bad > 0 ? 1 : 0
