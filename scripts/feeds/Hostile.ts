const ITEM = "<item><guid>real</guid><title>x</title></item>"

const rss = (body: string, before = ""): string =>
  `<?xml version="1.0"?>${before}<rss version="2.0"><channel><title>t</title>${body}</channel></rss>`

const numbered = (count: number, write: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => write(index)).join("")

/** Documents that attack the time, memory or stack of a reader. */
export const documents: { readonly [attack: string]: () => string } = {
  "entities that contain entities (billion laughs)": () =>
    rss(
      "<item><title>&e30;</title></item>",
      `<!DOCTYPE x [<!ENTITY e0 "lol">${numbered(30, (n) => `<!ENTITY e${n + 1} "${`&e${n};`.repeat(10)}">`)}]>`
    ),
  "one long entity used often (quadratic)": () =>
    rss(`<item><title>${"&a;".repeat(50_000)}</title></item>`, `<!DOCTYPE x [<!ENTITY a "${"a".repeat(1000)}">]>`),
  "an entity from a file or another server": () =>
    rss(
      "<item><guid>real</guid><title>&a;</title></item>",
      "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\"><!ENTITY % b SYSTEM \"http://127.0.0.1/\"> %b;]>"
    ),
  "200,000 unclosed tags": () => rss(`<item>${"<b>".repeat(200_000)}${ITEM}`),
  "200,000 unclosed tags with text": () => rss(`<item>${"<p>x".repeat(200_000)}${ITEM}`),
  "100,000 levels": () => rss(`<item>${"<a>".repeat(100_000)}${"</a>".repeat(100_000)}</item>${ITEM}`),
  "100,000 attributes": () => rss(`<item ${numbered(100_000, (n) => `a${n}="v" `)}><guid>real</guid></item>`),
  "1 MB of white space in a tag": () => rss(`<item${" ".repeat(1_000_000)}><guid>real</guid></item>`),
  "comments without an end": () => rss("<!--".repeat(250_000)),
  "sections without an end": () => rss(`<item><title>${"<![CDATA[".repeat(100_000)}`),
  "sections that lose their end, over and over": () => rss(`${"<item><title><![CDATA[</title".repeat(30_000)}]]>`),
  "a text of 5 MB": () => rss(`<item><guid>real</guid><title>${"a".repeat(5_000_000)}</title></item>`),
  "1 MB of ampersands": () => rss(`<item><title>${"&".repeat(1_000_000)}</title></item>`),
  "1 MB of <": () => rss(`<item><title>${"<".repeat(1_000_000)}</title></item>`),
  "nested namespaces": () => rss(`<item>${numbered(50_000, (n) => `<p${n}:a xmlns:p${n}="u${n}">`)}`),
  "quotes without an end": () => rss("<item a=\"".repeat(100_000)),
  "end tags without start": () => rss(`<item>${"<b>".repeat(64)}${numbered(100_000, (n) => `</x${n}>`)}`),
  "relative references without an end": () =>
    rss(
      `<link>http://a.example/</link><item><description><![CDATA[<a ${" href=".repeat(200_000)}]]></description></item>`
    ),
  "addresses that are almost e-mail": () => rss(`<item><author>${"a".repeat(999)}@</author></item>`.repeat(1000)),
  "dates that are almost dates": () => rss(`<item><pubDate>${"1 ".repeat(55)}</pubDate></item>`.repeat(5000)),
  "lists of lists": () => "[".repeat(500_000),
  "source in source": () => `<feed xmlns="http://www.w3.org/2005/Atom"><entry>${"<source>".repeat(50_000)}`,
  "50,000 names of elements": () => rss(`<item>${numbered(50_000, (n) => `<n${n}/>`)}</item>${ITEM}`),
  "objects in objects": () => rss(`<item>${"<activity:object>".repeat(50_000)}`)
}
