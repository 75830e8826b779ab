import { decodeHTMLStrict } from "entities"
import { stripControls } from "#domain/ControlCharacters.ts"
import type { Text } from "#domain/feed/Entry.ts"

/** A tag, a comment or a declaration. */
const markup = /<[a-zA-Z!/?][^<>]*>/g

/**
 * A text without markup and character references, for JSON and the status, which have no place for a type.
 *
 * References such as `&#27;` bring no control characters in. White space is kept in plain texts only, because HTML collapses it.
 */
export const toPlainText = ({ type, value }: Text): string =>
  type === "html" || type === "xhtml"
    ? stripControls(decodeHTMLStrict(value.replace(markup, ""))).replace(/[ \t\r\n]+/g, " ").replace(/^ | $/g, "")
    : value
