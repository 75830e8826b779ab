/** Month names and abbreviations of feeds, by month, in lower case and NFC, without a final dot. */
const monthNames: ReadonlyArray<string> = [
  "jan january janvier janv januar jän jänner enero ene gennaio gen januari janeiro január ιαν янв января styczeń stycznia ocak leden ledna jaan",
  "feb february février févr fév fevrier februar febrero febbraio februari fevereiro fev február februári φεβ фев февр февраля luty lutego şubat únor února",
  "mar march mars märz mär mrz maerz marzo maart mrt março marco március márc μάώ μαώ μαρ μάρ мар марта mart marzec marca březen března",
  "apr april avril avr abril abr aprile április ápr máprilis απρ апр апреля nisan kwiecień kwietnia duben dubna",
  "may mai mayo maggio mag mei maio maj május máj μάι μαϊ μαι μάϊ мая май mayıs kwi maja květen května",
  "jun june juin juni junio giugno giu junho június jún ιούν ιον ιουν июн июня haziran czerwiec czerwca červen června",
  "jul july juillet juil juli julio luglio lug julho július júl ιούλ ιολ ιουλ июл июля temmuz lipiec lipca červenec července",
  "aug august août aout agosto ago augustus augusztus αύγ αυγ авг августа ağustos sierpień sierpnia srpen srpna",
  "sep sept september septembre septiembre settembre set setembro szeptember szept σεπ сен сент сентября eylül wrzesień września září",
  "oct october octobre oktober okt octubre ottobre ott outubro out október οκτ окт октября ekim październik października říjen října",
  "nov november novembre noviembre novembro νοέ νοε ноя нояб ноября kasım listopad listopada",
  "dec december décembre déc decembre dez dezember diciembre dic dicembre dezembro δεκ дек декабря aralık grudzień grudnia prosinec prosince"
]

const monthsByName: ReadonlyMap<string, number> = new Map(
  monthNames.flatMap((names, index) => names.split(" ").map((name) => [name, index + 1] as const))
)

/** The usual form in feeds. */
const englishAbbreviations: ReadonlyMap<string, number> = new Map(
  ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"].map((
    name,
    index
  ) => [name, index + 1])
)

const englishBeginning = /^(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)/

/** Beginnings of weekdays and other words that resemble an English month. */
const weekdayBeginning = /^(?:mardi|marte|maan|mayb|domi|dece?n)/

/** Parses a month as 1 to 12. The beginning is enough for English months: `Septembr`, `Janury`. */
export const parseMonth = (word: string): number | undefined => {
  const short = englishAbbreviations.get(word)
  if (short !== undefined) return short
  const plain = word.toLowerCase().normalize("NFC").replace(/\.$/, "")
  const known = monthsByName.get(plain)
  if (known !== undefined || plain.length <= 3 || !englishBeginning.test(plain) || weekdayBeginning.test(plain)) {
    return known
  }
  return monthsByName.get(plain.slice(0, 3))
}

/** Whether a word is a month in one language and a weekday in another. The last such word of a date is the month. */
export const mayBeWeekday = (word: string): boolean => /^(?:mar|jeu|dom|gen|lun|mer|sam)$/.test(word.toLowerCase())
