import { nextInteger, pick, type Random } from "#scripts/feeds/Random.ts"

/** Addresses of the outside world that parameters name. */
export interface Places {
  /** URL of a server with feeds, pages and callbacks. */
  readonly outside: string
  /** Windhover's own URL. */
  readonly base: string
}

const oddTexts = [
  "",
  " ",
  "0",
  "-1",
  "1e9",
  "true",
  "null",
  "[]",
  "{}",
  "undefined",
  "__proto__",
  "constructor",
  "%",
  "%zz",
  "\0",
  "\r\nX-Injected: 1",
  "\u001b[31m",
  "\u202e",
  "\ud800",
  "\u{1f426}",
  "é",
  "'; drop table entries; --",
  "<script>",
  "&amp;",
  "]]>"
]

const lengths = [1, 2, 63, 64, 199, 200, 255, 256, 1023, 1024, 1025, 2047, 2048, 2049, 8192, 65_536]

const longText = (random: Random): string => "a".repeat(pick(random, lengths))

const integers = [
  "0",
  "1",
  "2",
  "10",
  "20",
  "50",
  "51",
  "-5",
  "+3",
  " 7 ",
  "1.5",
  "999999999999999",
  "9".repeat(40),
  "0x10"
]

const topics = ({ base, outside }: Places): ReadonlyArray<string> => [
  `${outside}/feed/1`,
  `${outside}/feed/2?query=1&again=2`,
  `${outside}/page#h1`,
  `${outside}/page#div > p:nth-child(2)`,
  `${outside}/page#:has(:has(:has(*)))`,
  `${outside}/data#$.items[*].title`,
  `${outside}/data#$..[?(@.price<10)]`,
  `${outside}/data#$..*..*..*`,
  `${outside}/hang`,
  `${outside}/broken`,
  `${outside}/redirect`,
  `${outside}/${"p".repeat(2040)}`,
  outside.toUpperCase(),
  `${base}/`,
  `${base}/events`,
  "http://[::1]/",
  "http://169.254.169.254/latest",
  "http://168.63.129.16/",
  "http://user:password@127.0.0.1/",
  "http://127.0.0.1:0/",
  "http://0177.1/",
  "http://xn--/",
  "http://exämple.invalid/ü",
  "ftp://example.org/",
  "javascript:alert(1)",
  "//example.org/",
  "http://",
  "about:blank"
]

const callbacks = ({ base, outside }: Places): ReadonlyArray<string> => [
  `${outside}/hook/1`,
  `${outside}/hook/2?own=1`,
  `${outside}/refusing`,
  `${outside}/hang`,
  `${base}/dev/null`,
  `${base}/`,
  "xmpp:ann@localhost",
  "mailto:ann@example.org",
  "http://127.0.0.1:1/"
]

/** Parameters and the texts that a client could send in each of them. */
const valuesByName: { readonly [name: string]: (random: Random, places: Places) => string } = {
  "hub.topic": (random, places) => pick(random, topics(places)),
  "hub.url": (random, places) => pick(random, topics(places)),
  "topic": (random, places) => pick(random, topics(places)),
  "hub.callback": (random, places) => pick(random, callbacks(places)),
  "callback": (random, places) => pick(random, [...callbacks(places), "jsonp", "a.b[0]", "alert(1)//"]),
  "hub.verify": (random) => pick(random, ["sync", "async", "sync,async", "later"]),
  "hub.signature": (random) => pick(random, ["sha1", "sha256", "sha512", "md5", "sha256=00"]),
  "hub.retry": (random) => pick(random, ["short", "days", "never"]),
  "format": (random) => pick(random, ["json", "atom", "JSON", "xml"]),
  "wait": (random) => pick(random, ["stream", "poll", "both"]),
  "count": (random) => pick(random, integers),
  "page": (random) => pick(random, integers),
  "by_page": (random) => pick(random, integers),
  "limit": (random) => pick(random, integers),
  "after": (random) => pick(random, [...integers, "an-id", "urn:feed:1"]),
  "before": (random) => pick(random, [...integers, "an-id"]),
  "subscription": (random) => pick(random, integers),
  "hub.lease_seconds": (random) => pick(random, integers),
  "retrieve": (random) => pick(random, ["true", "false", "1", "maybe"]),
  "detailed": (random) => pick(random, ["true", "false", "yes", "maybe"])
}

/** A value of a parameter: mostly one that the parameter accepts or nearly accepts, else any odd text. */
export const valueOf = (random: Random, name: string, places: Places): string => {
  const choice = nextInteger(random, 20)
  if (choice === 0) return pick(random, oddTexts)
  if (choice === 1) return longText(random)
  const make = valuesByName[name]
  return make === undefined ? pick(random, [...oddTexts, ...integers, "text"]) : make(random, places)
}

/** The name in one of the spellings that clients use. */
export const spell = (random: Random, name: string): string => {
  const [first = "", ...more] = name.split(/[.[\]]+/).filter((part) => part !== "")
  switch (nextInteger(random, 8)) {
    case 0:
      return `${first}${more.map((part) => `[${part}]`).join("")}`
    case 1:
      return `${name}[]`
    case 2:
      return `${name}[0]`
    case 3:
      return name.toUpperCase()
    default:
      return name
  }
}

export const oddText = (random: Random): string =>
  nextInteger(random, 5) === 0 ? longText(random) : pick(random, oddTexts)
