const realItem = "<item><guid>real</guid><title>x</title></item>"

const wrapInRss = (body: string, before = ""): string =>
  `<?xml version="1.0"?>${before}<rss version="2.0"><channel><title>t</title>${body}</channel></rss>`

const repeatNumbered = (count: number, write: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => write(index)).join("")

/** Documents that attack the time, memory or stack of a reader. */
export const hostileDocuments: { readonly [attack: string]: () => string } = {
  "entities that contain entities (billion laughs)": () =>
    wrapInRss(
      "<item><title>&e30;</title></item>",
      `<!DOCTYPE x [<!ENTITY e0 "lol">${repeatNumbered(30, (n) => `<!ENTITY e${n + 1} "${`&e${n};`.repeat(10)}">`)}]>`
    ),
  "one long entity used often (quadratic)": () =>
    wrapInRss(
      `<item><title>${"&a;".repeat(50_000)}</title></item>`,
      `<!DOCTYPE x [<!ENTITY a "${"a".repeat(1000)}">]>`
    ),
  "an entity from a file or another server": () =>
    wrapInRss(
      "<item><guid>real</guid><title>&a;</title></item>",
      "<!DOCTYPE x [<!ENTITY a SYSTEM \"file:///etc/passwd\"><!ENTITY % b SYSTEM \"http://127.0.0.1/\"> %b;]>"
    ),
  "200,000 unclosed tags": () => wrapInRss(`<item>${"<b>".repeat(200_000)}${realItem}`),
  "200,000 unclosed tags with text": () => wrapInRss(`<item>${"<p>x".repeat(200_000)}${realItem}`),
  "100,000 levels": () => wrapInRss(`<item>${"<a>".repeat(100_000)}${"</a>".repeat(100_000)}</item>${realItem}`),
  "100,000 attributes": () =>
    wrapInRss(`<item ${repeatNumbered(100_000, (n) => `a${n}="v" `)}><guid>real</guid></item>`),
  "1 MB of white space in a tag": () => wrapInRss(`<item${" ".repeat(1_000_000)}><guid>real</guid></item>`),
  "comments without an end": () => wrapInRss("<!--".repeat(250_000)),
  "sections without an end": () => wrapInRss(`<item><title>${"<![CDATA[".repeat(100_000)}`),
  "sections that lose their end, over and over": () =>
    wrapInRss(`${"<item><title><![CDATA[</title".repeat(30_000)}]]>`),
  "a text of 5 MB": () => wrapInRss(`<item><guid>real</guid><title>${"a".repeat(5_000_000)}</title></item>`),
  "1 MB of ampersands": () => wrapInRss(`<item><title>${"&".repeat(1_000_000)}</title></item>`),
  "1 MB of <": () => wrapInRss(`<item><title>${"<".repeat(1_000_000)}</title></item>`),
  "nested namespaces": () => wrapInRss(`<item>${repeatNumbered(50_000, (n) => `<p${n}:a xmlns:p${n}="u${n}">`)}`),
  "quotes without an end": () => wrapInRss("<item a=\"".repeat(100_000)),
  "end tags without start": () => wrapInRss(`<item>${"<b>".repeat(64)}${repeatNumbered(100_000, (n) => `</x${n}>`)}`),
  "relative references without an end": () =>
    wrapInRss(
      `<link>http://a.example/</link><item><description><![CDATA[<a ${" href=".repeat(200_000)}]]></description></item>`
    ),
  "addresses that are almost e-mail": () => wrapInRss(`<item><author>${"a".repeat(999)}@</author></item>`.repeat(1000)),
  "dates that are almost dates": () => wrapInRss(`<item><pubDate>${"1 ".repeat(55)}</pubDate></item>`.repeat(5000)),
  "lists of lists": () => "[".repeat(500_000),
  "source in source": () => `<feed xmlns="http://www.w3.org/2005/Atom"><entry>${"<source>".repeat(50_000)}`,
  "50,000 names of elements": () => wrapInRss(`<item>${repeatNumbered(50_000, (n) => `<n${n}/>`)}</item>${realItem}`),
  "objects in objects": () => wrapInRss(`<item>${"<activity:object>".repeat(50_000)}`)
}
