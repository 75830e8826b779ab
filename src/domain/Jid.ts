// oxlint-disable-next-line no-restricted-imports -- a table of values: no I/O, and `URL` knows the way to ASCII only
import { domainToUnicode } from "node:url"

/**
 * An XMPP address, `local@domain/resource`, in its comparable form (RFC 7622, sections 3.2 to 3.4).
 *
 * Implements a part of PRECIS, because servers have prepared the addresses that they pass on. This part rejects impossible addresses, and
 * unifies the spellings that people type into settings and attributes.
 */
export interface Jid {
  /** Absent for a domain: a server, a component. */
  readonly local?: string
  readonly domain: string
  /** Unchanged, because no rule depends on it. */
  readonly resource?: string
}

/** Maximum of bytes per part (RFC 7622, 3.1). */
const maxPartBytes = 1023

/** Parses an address; undefined for an invalid one. */
export const parse = (text: string): Jid | undefined => {
  if (text.length > 3 * maxPartBytes + 2) return undefined
  const slash = text.indexOf("/")
  const bareText = slash < 0 ? text : text.slice(0, slash)
  const at = bareText.indexOf("@")
  const local = at < 0 ? undefined : prepareLocal(bareText.slice(0, at))
  const domain = prepareDomain(bareText.slice(at + 1))
  const resource = slash < 0 ? undefined : prepareResource(text.slice(slash + 1))
  if (domain === undefined || (at >= 0 && local === undefined) || (slash >= 0 && resource === undefined)) {
    return undefined
  }
  return {
    ...(local === undefined ? {} : { local }),
    domain,
    ...(resource === undefined ? {} : { resource })
  }
}

/** `local@domain`, or the domain alone. */
export const bare = ({ domain, local }: Jid): string => local === undefined ? domain : `${local}@${domain}`

/** The comparable Unicode form of a domain. An invalid domain stays unchanged. */
export const domainOf = (text: string): string => prepareDomain(text) ?? text

/** The bare form of a written address; undefined for an invalid one. */
export const bareOf = (text: string): string | undefined => {
  const jid = parse(text)
  return jid === undefined ? undefined : bare(jid)
}

const checkPart = (part: string): string | undefined =>
  part !== "" && part.isWellFormed() && Buffer.byteLength(part) <= maxPartBytes ? part : undefined

/** Letters, digits and visible ASCII, without the separators and quotes that RFC 7622 excludes. */
const localPattern = /^[\p{L}\p{N}\p{M}\x21\x23-\x25\x28-\x2e\x3b\x3d\x3f\x5b-\x60\x7b-\x7e]+$/u

const prepareLocal = (text: string): string | undefined => {
  const local = checkPart(foldWidth(text).toLowerCase().normalize("NFC"))
  return local !== undefined && localPattern.test(local) ? local : undefined
}

/** Full-width and half-width forms stand for their ordinary letters. */
const foldWidth = (text: string): string => text.replace(/[\uff01-\uffee]/g, (wide) => wide.normalize("NFKC"))

/** Characters that end or change the host name of a URL. */
const noDomain = /[/?#\\@%\s:]/

const prepareDomain = (text: string): string | undefined => {
  const named = text.endsWith(".") ? text.slice(0, -1) : text
  if (/^\[[0-9a-f:.]+\]$/i.test(named)) return named.toLowerCase()
  if (noDomain.test(named) || named.startsWith(".") || named.includes("..")) return undefined
  return checkPart(domainToUnicode(named))
}

const prepareResource = (text: string): string | undefined => {
  const resource = checkPart(text.normalize("NFC"))
  return resource === undefined || /[\p{Cc}\p{Cs}]/u.test(resource) ? undefined : resource
}
