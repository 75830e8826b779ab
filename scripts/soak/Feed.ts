/** Formats that the feeds of a soak take in turn. */
const formats = ["rss", "atom", "json", "rdf"] as const

/** Entries that a document shows, the newest ones. */
const shownEntries = 30

/** A feed whose entries are known by their ids. */
export class Feed {
  readonly ids: Array<string> = []
  readonly format: (typeof formats)[number]
  /** Documents since the feed showed a placeholder in place of its entries. */
  readonly number: number

  constructor(number: number) {
    this.number = number
    this.format = formats[number % formats.length] ?? "rss"
    this.publish()
  }

  publish(): void {
    this.ids.push(`urn:feed:${this.number}:${this.ids.length}`)
  }

  get contentType(): string {
    return this.format === "json"
      ? "application/feed+json"
      : `application/${this.format === "atom" ? "atom" : "rss"}+xml`
  }

  /** The document. `keep` drops entries; `stamp` dates each entry by this time. */
  render(options: { readonly keep?: (index: number) => boolean; readonly stamp?: string } = {}): string {
    const shown = this.ids.slice(-shownEntries).filter((_, index) => options.keep?.(index) ?? true).toReversed()
    return wrap(this.format, this.number, shown.map((id) => renderEntry(this.format, id, options.stamp)))
  }

  /** A document in place of the feed: one item without an id. */
  renderPlaceholder(): string {
    return wrap("rss", this.number, [`<item><title>${placeholder}</title></item>`])
  }
}

/** Title of the item that stands in place of the entries. */
export const placeholder = "Temporarily unavailable"

const renderEntry = (format: Feed["format"], id: string, stamp: string | undefined): string => {
  const link = `http://example.org/${encodeURIComponent(id)}`
  switch (format) {
    case "rss": {
      const date = stamp === undefined ? "" : `<atom:updated>${stamp}</atom:updated>`
      return `<item><guid isPermaLink="false">${id}</guid><title>About ${id}</title><link>${link}</link>${date}</item>`
    }
    case "atom":
      return `<entry><id>${id}</id><title>About ${id}</title><link href="${link}"/><updated>${
        stamp ?? "2026-01-01T00:00:00Z"
      }</updated></entry>`
    case "rdf":
      return `<item rdf:about="${id}"><title>About ${id}</title><link>${link}</link></item>`
    case "json":
      return JSON.stringify({
        id,
        title: `About ${id}`,
        url: link,
        ...(stamp !== undefined && { date_modified: stamp })
      })
  }
}

const wrap = (format: Feed["format"], number: number, entries: ReadonlyArray<string>): string => {
  const title = `Feed ${number}`
  switch (format) {
    case "rss":
      return `<rss version="2.0" xmlns:atom="http://www.w3.org/2005/Atom"><channel><title>${title}</title>${
        entries.join("")
      }</channel></rss>`
    case "atom":
      return `<feed xmlns="http://www.w3.org/2005/Atom"><title>${title}</title><id>urn:feed:${number}</id>${
        entries.join("")
      }</feed>`
    case "rdf":
      return `<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns="http://purl.org/rss/1.0/"><channel><title>${title}</title></channel>${
        entries.join("")
      }</rdf:RDF>`
    case "json":
      return `{"version":"https://jsonfeed.org/version/1.1","title":"${title}","items":[${entries.join(",")}]}`
  }
}
