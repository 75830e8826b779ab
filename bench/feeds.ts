// Measures the speed of reading feeds against a bare SAX pass of expat (in C), feedsmith and rss-parser, in the same run.
//   bin/node --max-semi-space-size=32 bench/feeds.ts [--write]      (--write: into docs/performance.md)
// Times are CPU times of the process, the best of many short rounds, because machines are noisy. Needs a C compiler and the headers of
// expat, or Python 3 with its expat.
import { Effect } from "effect"
import { parseFeed } from "feedsmith"
import { execFileSync } from "node:child_process"
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { monitorEventLoopDelay } from "node:perf_hooks"
import RssParser from "rss-parser"
import { readFeed } from "#domain/normalize/ReadFeed.ts"
import { FeedReader } from "#domain/ports/FeedReader.ts"
import * as Reader from "#layers/workers/FeedReaderWorker.ts"
import { makeFeedDocument, type Style, styles } from "#scripts/feeds/FeedDocuments.ts"
import { makeRandom } from "#scripts/feeds/Random.ts"
import { replaceSection } from "./Section.ts"

const rounds = 80
/** Approximate bytes per round: a few milliseconds. */
const roundBytes = 600_000
/** Approximate bytes per entry. */
const entryBytes = { rss: 2900, atom: 2850, rdf: 2350, podcast: 2750 }

const directory = mkdtempSync(join(tmpdir(), "windhover-bench-"))
const encode = (text: string): Uint8Array => new TextEncoder().encode(text)

const makeDocument = (style: Style, size: number): string =>
  makeFeedDocument(makeRandom(size), style, Math.max(2, Math.round(size / entryBytes[style])), 1600).text

/** Microseconds of CPU, of all threads, for one call. */
const measureMicros = async (work: () => unknown, bytes: number): Promise<number> => {
  const calls = Math.ceil(roundBytes / bytes)
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < rounds; round++) {
    const started = process.cpuUsage()
    for (let call = 0; call < calls; call++) await work()
    const { user, system } = process.cpuUsage(started)
    best = Math.min(best, (user + system) / calls)
  }
  return best
}

const saxProgram = `
#include <expat.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static long seen;
static void start(void *u, const XML_Char *n, const XML_Char **a) { seen++; }
static void end(void *u, const XML_Char *n) { seen++; }
static void text(void *u, const XML_Char *s, int l) { seen += l; }
static double now(void) { struct timespec t; clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t); return t.tv_sec + t.tv_nsec / 1e9; }
int main(int c, char **v) {
  FILE *f = fopen(v[1], "rb"); fseek(f, 0, SEEK_END); long size = ftell(f); rewind(f);
  char *b = malloc(size); if (fread(b, 1, size, f) != (size_t) size) return 2;
  int calls = ${roundBytes} / size + 1; double best = 1e9;
  for (int r = 0; r < ${rounds}; r++) {
    double t = now();
    for (int i = 0; i < calls; i++) {
      XML_Parser p = XML_ParserCreate(NULL); XML_SetElementHandler(p, start, end); XML_SetCharacterDataHandler(p, text);
      if (!XML_Parse(p, b, size, 1)) return 1; XML_ParserFree(p);
    }
    t = (now() - t) / calls; if (t < best) best = t;
  }
  printf("%f\\n", best * 1e6);
}`

/** In C, expat calls empty handlers. In Python, expat runs without handlers, which costs as little. */
const pythonProgram = `
import sys, time
from xml.parsers import expat
b = open(sys.argv[1], 'rb').read(); calls = ${roundBytes} // len(b) + 1; best = 1e9
for r in range(${rounds}):
  t = time.process_time()
  for i in range(calls): p = expat.ParserCreate(); p.Parse(b, True)
  best = min(best, (time.process_time() - t) / calls)
print(best * 1e6)`

/** A command that prints the microseconds of a bare pass over a file. */
const saxCommand = (): ReadonlyArray<string> => {
  const source = join(directory, "sax.c")
  const program = join(directory, "sax")
  writeFileSync(source, saxProgram)
  try {
    execFileSync("cc", ["-O2", "-o", program, source, "-lexpat"], { stdio: "ignore" })
    return [program]
  } catch {
    return ["python3", "-c", pythonProgram]
  }
}

const sax = saxCommand()

const measureExpat = (text: string): number => {
  const file = join(directory, "feed.xml")
  writeFileSync(file, text)
  const [command = "", ...rest] = sax
  return Number(execFileSync(command, [...rest, file], { encoding: "utf8" }))
}

const rssParser = new RssParser()

/** rss-parser rejects some dates of RDF. A rejected document costs as much time. */
const parseRss = (text: string): Promise<unknown> => rssParser.parseString(text).catch(() => undefined)

interface Rates {
  readonly size: number
  readonly windhover: number
  readonly expat: number
  readonly feedsmith: number
  readonly rssParser: number
}

/** MB/s over one document of each style. */
const measureRates = async (size: number): Promise<Rates> => {
  const sum = { bytes: 0, windhover: 0, expat: 0, feedsmith: 0, rssParser: 0 }
  for (const style of styles) {
    const text = makeDocument(style, size)
    const bytes = encode(text)
    sum.bytes += bytes.length
    sum.expat += measureExpat(text)
    sum.windhover += await measureMicros(() => readFeed(bytes), bytes.length)
    sum.feedsmith += await measureMicros(() => parseFeed(text), bytes.length)
    sum.rssParser += await measureMicros(() => parseRss(text), bytes.length)
  }
  return {
    size,
    windhover: sum.bytes / sum.windhover,
    expat: sum.bytes / sum.expat,
    feedsmith: sum.bytes / sum.feedsmith,
    rssParser: sum.bytes / sum.rssParser
  }
}

/** Microseconds for a document with one new entry of 25, in two stages and whole. */
const measureStages = async () => {
  const shares: Array<{ readonly style: Style; readonly part: number; readonly whole: number }> = []
  for (const style of styles) {
    const bytes = encode(makeFeedDocument(makeRandom(25), style, 25, 1600).text)
    const whole = readFeed(bytes)
    const seenSlices = new Set(whole._tag === "Feed" ? whole.slices?.slice(1) : [])
    shares.push({
      style,
      part: await measureMicros(() => readFeed(bytes, { seenSlices }), bytes.length),
      whole: await measureMicros(() => readFeed(bytes), bytes.length)
    })
  }
  return shares
}

/** Milliseconds by the wall until 5 MB are read in the thread, and how long the event loop stood still. */
const measureThread = Effect.gen(function*() {
  const { read } = yield* FeedReader
  const bytes = encode(makeDocument("rss", 5_000_000))
  const runs: Array<{ readonly took: number; readonly blocked: number }> = []
  for (let run = 0; run < 8; run++) {
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const started = performance.now()
    yield* read(bytes, {}, { key: "feed", isForStrangers: false })
    const took = performance.now() - started
    yield* Effect.sleep(10)
    delay.disable()
    runs.push({ took, blocked: delay.max / 1e6 })
  }
  const warm = runs.slice(3)
  return {
    first: runs[0]!.took,
    took: warm.map((run) => run.took).toSorted((a, b) => a - b)[warm.length >> 1]!,
    blocked: Math.max(...warm.map((run) => run.blocked))
  }
}).pipe(Effect.provide(Reader.layer))

const rates: Array<Rates> = []
for (const size of [10_000, 50_000, 500_000]) rates.push(await measureRates(size))
const shares = await measureStages()
const thread = await Effect.runPromise(measureThread)
rmSync(directory, { recursive: true })

const sumOf = (field: "part" | "whole"): number => shares.reduce((sum, share) => sum + share[field], 0)

const format = (value: number, digits = 0): string => value.toFixed(digits)
const lines = [
  `From bytes to the model, in MB/s (\`bench/feeds.ts\`, Node ${process.version}). The documents are one WordPress-like feed each in RSS, Atom and RDF, and a podcast.`,
  `The comparison is expat, ${
    sax.length === 1 ? "in C with empty handlers" : "called from Python, without handlers"
  }; the JavaScript readers get decoded text.`,
  "",
  "| document | Windhover | expat, bare SAX pass | feedsmith | rss-parser | of expat | × feedsmith | × rss-parser |",
  "| --- | --- | --- | --- | --- | --- | --- | --- |",
  ...rates.map((rate) =>
    `| ${rate.size / 1000} kB | ${format(rate.windhover)} | ${format(rate.expat)} | ${format(rate.feedsmith, 1)} | ${
      format(rate.rssParser, 1)
    } | ${format(rate.windhover / rate.expat, 2)} | ${format(rate.windhover / rate.feedsmith, 1)} | ${
      format(rate.windhover / rate.rssParser, 1)
    } |`
  ),
  "",
  `Reading one new entry of 25 in two stages takes ${format(sumOf("part") / sumOf("whole"), 2)} of a whole reading (${
    shares.map(({ style, part, whole }) => `${style} ${format(part / whole, 2)}`).join(", ")
  }).`,
  "",
  `The thread reads 5 MB in ${format(thread.took)} ms (${
    format(thread.first)
  } ms the first time, including the start of the thread). The event loop stops for at most ${
    format(thread.blocked)
  } ms.`
]
console.log(lines.join("\n"))

if (process.argv.includes("--write")) {
  const file = new URL("../docs/performance.md", import.meta.url)
  writeFileSync(file, replaceSection(readFileSync(file, "utf8"), "Reading feeds", lines.join("\n")))
}
