import type { Element } from "@xmpp/xml"

/** Child elements; the text between the elements has no meaning in XMPP. */
export const getChildElements = (element: Element): ReadonlyArray<Element> =>
  element.children.filter((child) => typeof child !== "string")

/**
 * An attribute of the extension, with any prefix or none. Servers rewrite prefixes, and clients forget the prefix.
 *
 * An attribute in the extension's namespace has precedence over one in another namespace.
 */
export const getExtensionAttribute = (element: Element, name: string, namespace: string): string | undefined => {
  let found: string | undefined
  for (const [written, value] of Object.entries(element.attrs)) {
    if (value === undefined || (written !== name && !written.endsWith(`:${name}`))) continue
    const colon = written.indexOf(":")
    if (colon > 0 && element.findNS(written.slice(0, colon)) === namespace) return value
    found ??= value
  }
  return found
}

/** Copies a text that outlives its stanza. A substring would keep the whole buffer of the socket in memory. */
export const copyText = (text: string): string => Buffer.from(text).toString()
