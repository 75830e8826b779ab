import { readFileSync } from "node:fs"

/** CPU seconds of a process, and its memory in MB. */
export const measureProcess = (pid: number) => {
  const fields = readFileSync(`/proc/${pid}/stat`, "utf8").replace(/^.*\) /, "").split(" ")
  const rss = Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1])
  return { cpu: (Number(fields[11]) + Number(fields[12])) / 100, rss: rss / 1024 }
}
