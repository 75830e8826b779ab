import xml, { type Element } from "@xmpp/xml"

/** Parses a stanza inside a stream, as the component does. */
export const stanza = (text: string, server = "jabber:component:accept"): Element => {
  const parser = new xml.Parser()
  let found: Element | undefined
  parser.on("element", (element: Element) => found = element)
  parser.write(`<stream xmlns="${server}">${text}`)
  if (found === undefined) throw new Error(`no stanza: ${text}`)
  return found
}
