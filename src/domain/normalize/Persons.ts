import type { Link, Person } from "#domain/feed/Entry.ts"
import { type ElementContext, enterElement } from "./ElementContext.ts"
import { dropUndefined } from "./Draft.ts"
import { readLink } from "./Links.ts"
import { type Element, getChildElements, getText, getTrimmedText, hasElements } from "#domain/normalize/xml/Element.ts"
import { resolve } from "./Urls.ts"

const localPart = /[\w.+!#$%&'*/=?^`{|}~-]{1,64}$/
const domainPart = /^[\w-]{1,63}(?:\.[\w-]{1,63}){0,10}/
const maxTextLength = 1000

/** Parses `john@a.example (John Doe)`, `John Doe <john@a.example>`, a name, an address, and variants. */
export const parsePerson = (text: string): Person | undefined => {
  const plain = dropLinks(text).trim()
  if (plain === "") return undefined
  const email = plain.length > maxTextLength || !plain.includes("@") ? undefined : findEmail(plain)
  if (email === undefined) return { name: plain }
  const name = cleanName(plain.replaceAll(email, ""))
  return name === "" ? { email } : { name, email }
}

/** Removes links inside a name. arXiv has such names. */
const dropLinks = (text: string): string => text.includes("</a>") ? text.replace(/<\/?a(?:\s[^<>]*)?>/gi, "") : text

/** Finds an address around the first `@`. */
const findEmail = (text: string): string | undefined => {
  const at = text.indexOf("@")
  const before = localPart.exec(text.slice(Math.max(0, at - 64), at))?.[0]
  const after = domainPart.exec(text.slice(at + 1, at + 256))?.[0]
  return before === undefined || after === undefined ? undefined : `${before}@${after}`
}

const cleanName = (rest: string): string =>
  rest.replace(/mailto:/i, "")
    .replace(/\(\s*\)|<\s*>|&lt;\s*&gt;/g, "")
    .trim()
    .replace(/^\((.*)\)$/s, "$1")
    .replace(/^<|>$/g, "")
    .replace(/^"(.*)"$/, "$1")
    .replace(/^[,;:\s]+|[,;:\s]+$/g, "")
    .trim()

interface PersonParts {
  name?: string | undefined
  email?: string | undefined
  uri?: string | undefined
  id?: string | undefined
  title?: string | undefined
  objectTypes?: Array<string>
  links?: Array<Link>
}

/** Reads a person from child elements (Atom, iTunes) or from a text (RSS). */
export const readPerson = (element: Element, outer: ElementContext): Person | undefined => {
  if (!hasElements(element)) return parsePerson(element.text)
  const context = enterElement(element, outer)
  const parts: PersonParts = {}
  for (const child of getChildElements(element)) readPart(child, parts, context)
  const person = element.children.some((child) => typeof child === "string")
    ? addLooseText(element, parts)
    : dropUndefined(parts)
  return Object.keys(person).length === 0 ? parsePerson(getText(element)) : splitName(person)
}

/** Adds the text between the elements: `<author>Jane <email>jane@a.example</email></author>`. */
const addLooseText = (element: Element, parts: PersonParts): Person => {
  const loose = parsePerson(element.children.filter((child) => typeof child === "string").join(" "))
  const name = parts.name ?? (parts.email === undefined ? loose?.name : undefined)
  return dropUndefined({ ...loose, ...parts, name })
}

const readPart = (child: Element, parts: PersonParts, context: ElementContext): void => {
  const text = getTrimmedText(child)
  if (child.key === "link") (parts.links ??= []).push(readLink(child, context))
  else if (text === "") return
  else if (child.key === "name" || child.key === "displayname") parts.name ??= text
  else if (child.key === "email" || child.key === "mbox") parts.email ??= text.replace(/^mailto:/i, "")
  else if (child.key === "uri" || child.key === "url" || child.key === "homepage") {
    parts.uri ??= resolve(enterElement(child, context).base, text)
  } else if (child.key === "id") parts.id ??= text
  else if (child.key === "title") parts.title ??= text
  else if (child.key === "object-type") (parts.objectTypes ??= []).push(text)
}

/** Splits a name that contains an address: `<name>john@a.example (John)</name>`. */
const splitName = (person: Person): Person => {
  if (person.name === undefined || person.email !== undefined || !person.name.includes("@")) return person
  const { name: _name, ...rest } = person
  const split = parsePerson(person.name)
  return split?.email === undefined ? person : { ...rest, ...split }
}

const isSamePerson = (known: Person, person: Person): boolean =>
  person.name === undefined
    ? known.email === person.email && known.uri === person.uri
    : known.name === person.name &&
      (known.email === undefined || person.email === undefined || known.email === person.email)

const maxPersons = 100

/** Adds a person, or completes the known person with the same name. */
export const addPerson = (
  persons: Array<Person> | undefined,
  person: Person | undefined
): Array<Person> | undefined => {
  if (person === undefined || (persons !== undefined && persons.length >= maxPersons)) return persons
  if (persons === undefined) return [person]
  const same = persons.findIndex((known) => isSamePerson(known, person))
  if (same < 0) persons.push(person)
  else persons[same] = { ...person, ...persons[same] }
  return persons
}
