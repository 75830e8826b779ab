import type { Entry } from "#domain/feed/Entry.ts"
import type { FeedHeader } from "#domain/feed/Feed.ts"

/** Maximum of ranked entries, the newest first. */
export const maxRankedEntries = 25

/**
 * Words that mean pornography in any title. Ambiguous words (escort, nude, strip, adult) are absent, because feeds of museums or of cars
 * use such words.
 */
const explicitWords: ReadonlySet<string> = new Set(
  ("anilingus bdsm blowjob blowjobs bukkake camgirl camgirls camsex clit creampie creampies cumshot cumshots cunnilingus deepthroat dildo " +
    "dildos footjob fucked fucking gangbang gangbangs gloryhole handjob handjobs hentai hardcoreporn jizz milf milfs masturbating " +
    "masturbation nsfw orgasm orgasms porn porno pornos pornography pornhub pornstar pornstars pr0n pussies pussy rimjob sexcam sexcams " +
    "sexshow shemale shemales squirting threesome threesomes titties upskirt xhamster xvideos xxx webcamsex " +
    "fotze muschi wichsen porr porrfilm putas zorras порно секс порнуха ポルノ エロ 色情 黄色电影").split(" ")
)

/**
 * How likely a feed is pornography, 0 to 1 with two decimals: the share of its texts with an explicit word.
 *
 * The texts are the header (title, subtitle, categories, and the words of the site's name), and each of the newest entries (title, categories).
 * Undefined where there is no text to judge.
 */
export const pornRank = (
  header: FeedHeader | undefined,
  entries: ReadonlyArray<Entry>,
  host: string
): number | undefined => {
  const texts = [
    ...(header === undefined ? [] : [[header.title?.value, header.subtitle?.value, ...termsOf(header), host]]),
    ...entries.slice(0, maxRankedEntries).map((entry) => [entry.title?.value, ...termsOf(entry)])
  ].map((parts) => parts.filter((part) => part !== undefined).join(" ").slice(0, maxTextLength)).filter((text) =>
    text !== ""
  )
  if (texts.length === 0) return undefined
  return Math.round(texts.filter(isExplicit).length / texts.length * 100) / 100
}

/** Maximum of inspected characters of one text. */
const maxTextLength = 2_000

const termsOf = ({ categories }: Pick<Entry, "categories">): ReadonlyArray<string> =>
  categories?.map(({ term }) => term) ?? []

const isExplicit = (text: string): boolean =>
  text.toLowerCase().match(/[\p{L}\p{N}]+/gu)?.some((word) => explicitWords.has(word)) ?? false
