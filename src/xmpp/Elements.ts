import type { Element } from "@xmpp/xml"

/** Elements among the children; text between them is of no meaning here. */
export const getChildElements = (element: Element): ReadonlyArray<Element> =>
  element.children.filter((child) => typeof child !== "string")

/**
 * An attribute of the extension, with any prefix or none: servers rewrite prefixes, and clients forget them.
 *
 * One that is in the extension's namespace goes before one that is in another or none.
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

/** A text of its own, for what outlives its stanza: a part of a string holds on to the whole read of the socket. */
export const copyText = (text: string): string => Buffer.from(text).toString()
