import { codePages } from "./CodePages.ts"

/** UTF-16 and UTF-32. A declaration in ASCII letters contradicts these. */
const wideEncoding = /^(?:cs)?(?:(?:u|utf)(?:16|32)|ucs|unicode|iso10646|10646)/

/**
 * The encoding of a label: a WHATWG name, or the name of a page in `codePages`. `undefined` for unknown and wide encodings.
 *
 * Labels come as the WHATWG, IANA, Windows, Java, Python and iconv write them. Case and punctuation do not count.
 */
export const canonicalizeLabel = (label: string): string | undefined => {
  const lower = label.trim().toLowerCase()
  const known = canonicalNames.get(lower)
  if (known !== undefined) return known.name
  const name = findName(lower) ?? findName(lower.split(/[\s,]/, 1)[0] ?? "")
  if (canonicalNames.size < maxCanonicalNames) canonicalNames.set(lower, { name })
  return name
}

/** Labels as publishers wrote them, because a feed has the same label at every fetch. */
const canonicalNames = new Map<string, { readonly name: string | undefined }>()
const maxCanonicalNames = 1000

const findName = (label: string): string | undefined => {
  const compact = label.replace(/[^a-z0-9]/g, "")
  if (compact === "" || wideEncoding.test(compact)) return undefined
  return findWhatwgName(label) ?? findByNumber(label, compact) ?? findAlias(compact)
}

const findWhatwgName = (label: string): string | undefined => {
  try {
    const { encoding } = new TextDecoder(label)
    return encoding.startsWith("utf-16") ? undefined : encoding
  } catch {
    return undefined // no label of the WHATWG
  }
}

/** Number of an ISO 8859 part, without the year of the standard: `8859_1`, `iso-8859-15:1999`, `csISO88598I`. */
const isoPart = /8859[^a-z0-9]?(1[0-6]|[1-9])(?:[^a-z0-9]?(?:19|20)\d\d)?[^a-z0-9]?([ei]?)$/

/** Number in the registry of ISO: `iso-ir-101`, `csISO58GB231280`. */
const isoRegistration = /^(?:cs)?iso(?:ir)?(\d{1,3})(?:gb231280)?$/

/** Number of a Latin alphabet: `latin-9`, `l1`, `ISO_Latin_2`. */
const latinAlphabet = /^(?:cs)?(?:iso)?l(?:atin)?(10|[1-9])$/

/** Number of a code page of Windows, DOS or IBM: `CP-1251`, `windows1251`, `MS936`, `x-IBM943C`, `ansi_1250`, `437`. */
const codePage =
  /^x*(?:cs|cspc|cspcp)?(?:windows|win|ansi|codepage|cp|ms|ibm|dos|oem|mscp|microsoftcp|pc)*0*(\d{3,5})(?:[ac]|nav|v1|multilingual|latinhebrew|baltic|jis?)?$/

const findByNumber = (label: string, compact: string): string | undefined => {
  const [, part, direction] = isoPart.exec(label) ?? []
  if (part !== undefined) return findWhatwgName(direction === "i" ? "iso-8859-8-i" : `iso-8859-${part}`)
  const registration = isoRegistration.exec(compact)?.[1]
  if (registration !== undefined) {
    return nameOfRegistration.get(registration) ?? findWhatwgName(`iso-ir-${registration}`)
  }
  const alphabet = latinAlphabet.exec(compact)?.[1]
  if (alphabet !== undefined) return findWhatwgName(`iso-8859-${isoPartOfAlphabet[Number(alphabet)]}`)
  const page = codePage.exec(compact)?.[1]
  if (page === undefined) return undefined
  return nameOfPage.get(page) ?? (codePages.has(`cp${page}`) ? `cp${page}` : findWhatwgName(`windows-${page}`))
}

/** Parts of ISO 8859 by the numbers of their Latin alphabets, from 1. */
const isoPartOfAlphabet = [1, 1, 2, 3, 4, 9, 10, 13, 14, 15, 16]

/** Registrations that are no labels of the WHATWG. */
const nameOfRegistration: ReadonlyMap<string, string> = new Map([
  ["6", "windows-1252"],
  ["166", "windows-874"],
  ["179", "iso-8859-13"],
  ["199", "iso-8859-14"],
  ["203", "iso-8859-15"],
  ["226", "iso-8859-16"]
])

/** Numbers of code pages for encodings with another name. IBM's and Microsoft's numbers do not collide. */
const nameOfPage: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "utf-8": "65001 1208",
    "windows-1252": "367 646 819 1004 20127 28591 5348",
    "windows-1250": "5346",
    "windows-1251": "5347",
    "windows-1253": "5349",
    "windows-1254": "920 5350 28599",
    "windows-874": "1161 1162 28601 9066",
    "iso-8859-2": "912 28592",
    "iso-8859-3": "913 28593",
    "iso-8859-4": "914 28594",
    "iso-8859-5": "915 28595",
    "iso-8859-6": "708 1089 28596",
    "iso-8859-7": "813 28597",
    "iso-8859-8": "916 28598",
    "iso-8859-8-i": "38598",
    "iso-8859-10": "919 28600",
    "iso-8859-13": "921 28603",
    "iso-8859-14": "28604",
    "iso-8859-15": "923 28605",
    "iso-8859-16": "28606",
    "ibm866": "866 808",
    "koi8-r": "878 20866",
    "koi8-u": "1168 21866",
    "macintosh": "10000 1275",
    "x-mac-cyrillic": "10007 10017 1283",
    "maccentraleurope": "10029 1282",
    "macgreek": "10006 1280",
    "macturkish": "10081 1281",
    "shift_jis": "932 942 943 31",
    "euc-jp": "954 20932 33722 51932",
    "iso-2022-jp": "5054 50220 50221 50222",
    "gbk": "936 1386 1383 20936 51936",
    "gb18030": "1392 54936",
    "big5": "950 951 1370 1375",
    "euc-kr": "949 970 1363 51949"
  }).flatMap(([name, pages]) => pages.split(" ").map((page) => [page, name] as const))
)

/** Other names, without punctuation, `x` and `cs` in front. */
const aliases: ReadonlyMap<string, string> = new Map(
  Object.entries({
    "utf-8": "u8 utf utf8 utf8ucs2 utf8ucs4 utf8mb3 utf8mb4 utf8sig utf8bom utf8n utf8mac al32utf8",
    "windows-1252":
      "ascii usascii ascii8bit us ansi dbcs mbcs latin latin1 isolatin1 iso8859 8859 ansix341968 ansix341986 iso646us iso646irv iso646irv1991 msansi winlatin1 we8iso8859p1 we8mswin1252",
    "windows-1250": "msee winlatin2 winee ee8mswin1250",
    "windows-1251": "mscyrl wincyrillic wincyr cl8mswin1251",
    "windows-1253": "msgreek wingreek",
    "windows-1254": "msturk winturkish turkish turkish8",
    "windows-1255": "mshebr winhebrew",
    "windows-1256": "msarab winarabic",
    "windows-1257": "winbaltrim winbaltic baltic",
    "windows-1258": "winvietnamese",
    "windows-874": "tis620 tis6200 tis62025290 tis62025291 tis62025330 thai thai8 macthai th8tisascii",
    "iso-8859-5": "cyrillic isolatincyrillic",
    "iso-8859-6": "arabic arabic8 isolatinarabic ecma114 asmo708",
    "iso-8859-7": "greek greek8 isolatingreek ecma118 elot928 suneugreek",
    "iso-8859-8": "hebrew hebrew8 isolatinhebrew visual",
    "iso-8859-8-i": "logical",
    "iso-8859-13": "latin7baltic",
    "iso-8859-14": "celtic celtic8 isoceltic",
    "iso-8859-15": "latin0 eurolatin iso885915fdis",
    "koi8-r": "koi koi8 koi8r",
    "koi8-u": "koi8u koi8ru",
    "macintosh": "mac macroman macwestern macos macosroman",
    "x-mac-cyrillic": "maccyrillic macukraine macukrainian",
    "maccentraleurope": "maccentraleurope maccenteuro macce maclatin2 maccentraleuroperoman macintoshce",
    "macgreek": "macgreek",
    "macturkish": "macturkish",
    "kz1048": "rk1048 strk10482002",
    "cp437": "pc8 pc8codepage437",
    "cp861": "cpis",
    "shift_jis":
      "shiftjis sjis mskanji mscode windows31j shiftjisms sjisms sjiswin sjisopen shiftjisx0213 sjisx0213 shiftjis2004 sjis2004 macjapanese pck ms9320213 sjis0213 ja16sjis",
    "euc-jp":
      "eucjp ujis eucjpms eucjpwin eucjpopen eucjplinux eucjis eucjisx0213 eucjis2004 eucpkdfmtjapanese eucjpascii eucjpunix eucjpsolaris ibmeucjp extendedunixcodepackedformatforjapanese jisx0213 ja16euc xeuc iso2022jpeuc",
    "iso-2022-jp":
      "jis jisencoding iso2022jp iso2022jp1 iso2022jp2 iso2022jp3 iso2022jp2004 iso2022jpext iso2022jpms windowsiso2022jp mswin50221 windows50220 windows50221",
    "gbk":
      "gbk gb gb2312 gb23121980 gb231280 gb231281 iso58gb231280 chinese euccn eucgb2312cn gb2312eucg cngb cngbk cn simplifiedchinese macsimpchinese macchinesesimp zhcn zhcneuc ibmeuccn zhs16gbk zhs16cgb231280",
    "gb18030": "gb18030 gb180302000 gb180302005 gb180302022 gb13000",
    "big5":
      "big5 bigfive big5tw cnbig5 xxbig5 big5hkscs hkscs big52003 big5hkscs2001 big5hkscs2004 big5hkscs2008 ms950hkscs big5eten eten big5solaris big5uao mactradchinese macchinesetrad traditionalchinese zhtwbig5 zht16big5",
    "euc-kr":
      "euckr uhc korean ksc5601 ksc56011987 ksc56011989 ksc56011992 ksx1001 ksx10011992 ksx10012002 ks5601 mackorean wansung 5601 kseuc koeuc ibmeuckr ko16ksc5601 ko16mswin949"
  }).flatMap(([name, words]) => words.split(" ").map((word) => [word, name] as const))
)

const findAlias = (compact: string): string | undefined =>
  [compact, compact.replace(/^x+/, ""), compact.replace(/^cs/, "")].reduce<string | undefined>(
    (found, word) => found ?? aliases.get(word) ?? (codePages.has(word) ? word : undefined),
    undefined
  )
