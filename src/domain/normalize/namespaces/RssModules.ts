import type { Text } from "#domain/feed/Entry.ts"
import { dropUndefined } from "#domain/normalize/Draft.ts"
import { type ElementContext, resolveIn } from "#domain/normalize/ElementContext.ts"
import { addContent, addExtension, readExtension } from "#domain/normalize/FieldReaders.ts"
import { addLink, addLinkTo, parseLength } from "#domain/normalize/Links.ts"
import { getNonEmptyText, readText } from "#domain/normalize/Texts.ts"
import type { Namespace } from "./Namespace.ts"
import { type Element, getChildElements, getTrimmedText, getValue } from "#domain/normalize/xml/Element.ts"

/** RSS 1.0 administration: the URL of the generator. */
export const admin: Namespace = {
  key: "admin",
  uris: ["http://webns.net/mvcb"],
  vocabulary: {
    generatoragent: (element, draft) => {
      const uri = getValue(element, "resource")
      if (uri !== undefined) draft.generator ??= { name: uri, uri }
    },
    errorreportsto: (element, draft) => addExtension(draft, "admin", "errorReportsTo", getValue(element, "resource"))
  }
}

/** RSS 1.0 content: the whole entry, preferred to other content. */
export const content: Namespace = {
  key: "content",
  uris: ["http://purl.org/rss/1.0/modules/content"],
  vocabulary: {
    encoded: (element, draft, context) => {
      const text = readText(element, context, "html")
      if (text.value !== "") draft.content = [text, ...draft.content ?? []].slice(0, maxContents)
    },
    /** The older form: a bag of items with a value each. */
    items: (element, draft, context) => {
      const texts = readValues(element, context)
      if (texts.length > 0) draft.content = [...draft.content ?? [], ...texts].slice(0, maxContents)
    }
  }
}

const maxContents = 20

const readValues = (element: Element, context: ElementContext): ReadonlyArray<Text> =>
  getChildElements(element).slice(0, maxContents).flatMap((child) =>
    child.namespace === "rdf" && child.key === "value" ? [readText(child, context, "html")] : readValues(child, context)
  )

/** Licenses in the module for RSS 2.0: the text is the URL. */
export const creativeCommons: Namespace = {
  key: "creativecommons",
  uris: [
    "http://backend.userland.com/creativecommonsrssmodule",
    "http://cyber.law.harvard.edu/rss/creativecommonsrssmodule.html"
  ],
  vocabulary: {
    license: (element, draft, context) => {
      const license = readLicense(element, context)
      if (license === undefined) return
      draft.license ??= license
      addLinkTo(draft, "license", license)
    }
  }
}

/** Licenses in RDF: an attribute is the URL. A fallback for the module for RSS 2.0. */
export const rdfLicense: Namespace = {
  key: "cc",
  uris: ["http://web.resource.org/cc", "http://creativecommons.org/ns#"],
  vocabulary: {
    license: (element, draft, context) => {
      const license = readLicense(element, context)
      if (license === undefined) return
      draft.fallbacks.license ??= license
      addLinkTo(draft, "license", license)
    }
  }
}

const readLicense = (element: Element, context: ElementContext): string | undefined => {
  const address = getValue(element, "resource") ?? getValue(element, "about") ?? getNonEmptyText(element)
  return address === undefined ? undefined : resolveIn(element, context, address)
}

/** Enclosures in RSS 1.0, as in Craigslist's feeds: the URL is `rdf:resource`. */
export const enclosures: Namespace = {
  key: "enc",
  uris: ["http://purl.oclc.org/net/rss_2.0/enc#"],
  vocabulary: {
    enclosure: (element, draft, context) => {
      const address = getValue(element, "resource") ?? getValue(element, "url")
      if (address === undefined) return
      addLink(draft, {
        href: resolveIn(element, context, address),
        rel: "enclosure",
        ...dropUndefined({ type: getValue(element, "type"), length: parseLength(getValue(element, "length")) })
      })
    }
  }
}

/** Original links behind the counted links of FeedBurner. */
export const feedBurner: Namespace = {
  key: "feedburner",
  uris: ["http://rssnamespace.org/feedburner/ext/1.0"],
  vocabulary: {
    origlink: (element, draft, context) => {
      const address = getNonEmptyText(element)
      if (address !== undefined) draft.originalLink ??= resolveIn(element, context, address)
    },
    origenclosurelink: (element, draft, context) => {
      const address = getNonEmptyText(element)
      if (address !== undefined) draft.fallbacks.enclosure ??= resolveIn(element, context, address)
    },
    /** A sentence for browsers. */
    browserfriendly: (element, draft, context) => {
      const info = readText(element, context, "text")
      if (info.value !== "") draft.info ??= info
    }
  }
}

/** Dave Winer's `source` namespace: the Markdown, account and replies of an item. */
export const scripting: Namespace = {
  key: "source",
  uris: ["http://source.scripting.com"],
  vocabulary: {
    markdown: readExtension("source"),
    account: readExtension("source"),
    inreplyto: readExtension("source"),
    likes: readExtension("source"),
    localtime: readExtension("source"),
    self: readExtension("source")
  }
}

/** Slashdot's module: number of comments, section and department. */
export const slash: Namespace = {
  key: "slash",
  uris: ["http://purl.org/rss/1.0/modules/slash"],
  vocabulary: {
    comments: (element, draft) => {
      const count = Number.parseInt(getTrimmedText(element), 10)
      if (count >= 0) draft.commentCount ??= count
    },
    section: readExtension("slash"),
    department: readExtension("slash"),
    hit_parade: readExtension("slash")
  }
}

/** RSS 1.0 syndication: the publisher's polling interval. */
export const syndication: Namespace = {
  key: "sy",
  uris: ["http://purl.org/rss/1.0/modules/syndication"],
  vocabulary: {
    updateperiod: (element, draft) => {
      const period = getNonEmptyText(element)
      if (period !== undefined) (draft.hints ??= {}).updatePeriod ??= period
    },
    updatefrequency: (element, draft) => {
      const frequency = Number(getNonEmptyText(element))
      if (frequency > 0) (draft.hints ??= {}).updateFrequency ??= frequency
    },
    updatebase: readExtension("sy")
  }
}

/** The Comment API: the feed of an entry's comments, and the URL for new comments. */
export const wellFormedWeb: Namespace = {
  key: "wfw",
  uris: ["http://wellformedweb.org/commentapi"],
  vocabulary: {
    commentrss: (element, draft, context) => {
      const address = getNonEmptyText(element)
      if (address !== undefined) draft.commentsFeed ??= resolveIn(element, context, address)
    },
    comment: readExtension("wfw")
  }
}

/** An XHTML body as content. */
export const xhtml: Namespace = {
  key: "xhtml",
  uris: ["http://www.w3.org/1999/xhtml"],
  vocabulary: {
    body: addContent,
    div: addContent
  }
}
