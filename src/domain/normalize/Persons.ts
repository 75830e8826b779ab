import type { Link, Person } from "#domain/feed/Entry.ts"
import type { Context } from "./ElementContext.ts"
import { within } from "./ElementContext.ts"
import { defined } from "./Draft.ts"
import { linkOf } from "./Links.ts"
import { elements, hasElements, textOf, trimmed } from "#domain/normalize/xml/Element.ts"
import type { Element } from "#domain/normalize/xml/Element.ts"
import { resolve } from "./Urls.ts"

const BEFORE = /[\w.+!#$%&'*/=?^`{|}~-]{1,64}$/
const AFTER = /^[\w-]{1,63}(?:\.[\w-]{1,63}){0,10}/
const LONGEST = 1000

/** `john@a.example (John Doe)`, `John Doe <john@a.example>`, either alone, and what is made of them. */
export const personOf = (text: string): Person | undefined => {
  const plain = withoutLinks(text).trim()
  if (plain === "") return undefined
  const email = plain.length > LONGEST || !plain.includes("@") ? undefined : emailIn(plain)
  if (email === undefined) return { name: plain }
  const name = nameBeside(plain.replaceAll(email, ""))
  return name === "" ? { email } : { name, email }
}

/** arXiv links its authors inside the name. */
const withoutLinks = (text: string): string => text.includes("</a>") ? text.replace(/<\/?a(?:\s[^<>]*)?>/gi, "") : text

/** Looks around the first `@`. */
const emailIn = (text: string): string | undefined => {
  const at = text.indexOf("@")
  const before = BEFORE.exec(text.slice(Math.max(0, at - 64), at))?.[0]
  const after = AFTER.exec(text.slice(at + 1, at + 256))?.[0]
  return before === undefined || after === undefined ? undefined : `${before}@${after}`
}

const nameBeside = (rest: string): string =>
  rest.replace(/mailto:/i, "")
    .replace(/\(\s*\)|<\s*>|&lt;\s*&gt;/g, "")
    .trim()
    .replace(/^\((.*)\)$/s, "$1")
    .replace(/^<|>$/g, "")
    .replace(/^"(.*)"$/, "$1")
    .replace(/^[,;:\s]+|[,;:\s]+$/g, "")
    .trim()

interface Parts {
  name?: string | undefined
  email?: string | undefined
  uri?: string | undefined
  id?: string | undefined
  title?: string | undefined
  objectTypes?: Array<string>
  links?: Array<Link>
}

/** A person construct: of elements (Atom, iTunes), of words (RSS), or of words where elements should be. */
export const personIn = (element: Element, around: Context): Person | undefined => {
  if (!hasElements(element)) return personOf(element.text)
  const context = within(element, around)
  const parts: Parts = {}
  for (const child of elements(element)) part(child, parts, context)
  const person = element.children.some((child) => typeof child === "string")
    ? completed(element, parts)
    : defined(parts)
  return Object.keys(person).length === 0 ? personOf(textOf(element)) : withEmail(person)
}

/** With words between the elements: `<author>Jane <email>jane@a.example</email></author>`. */
const completed = (element: Element, parts: Parts): Person => {
  const loose = personOf(element.children.filter((child) => typeof child === "string").join(" "))
  const name = parts.name ?? (parts.email === undefined ? loose?.name : undefined)
  return defined({ ...loose, ...parts, name })
}

const part = (child: Element, parts: Parts, context: Context): void => {
  const text = trimmed(child)
  if (child.key === "link") (parts.links ??= []).push(linkOf(child, context))
  else if (text === "") return
  else if (child.key === "name" || child.key === "displayname") parts.name ??= text
  else if (child.key === "email" || child.key === "mbox") parts.email ??= text.replace(/^mailto:/i, "")
  else if (child.key === "uri" || child.key === "url" || child.key === "homepage") {
    parts.uri ??= resolve(within(child, context).base, text)
  } else if (child.key === "id") parts.id ??= text
  else if (child.key === "title") parts.title ??= text
  else if (child.key === "object-type") (parts.objectTypes ??= []).push(text)
}

/** Some write the address into the name: `<name>john@a.example (John)</name>`. */
const withEmail = (person: Person): Person => {
  if (person.name === undefined || person.email !== undefined || !person.name.includes("@")) return person
  const { name: _name, ...rest } = person
  const split = personOf(person.name)
  return split?.email === undefined ? person : { ...rest, ...split }
}

const isSame = (known: Person, person: Person): boolean =>
  person.name === undefined
    ? known.email === person.email && known.uri === person.uri
    : known.name === person.name &&
      (known.email === undefined || person.email === undefined || known.email === person.email)

const MOST = 100

/** Adds a person once: whoever is there under the same name only gets what was not known. */
export const addPerson = (
  persons: Array<Person> | undefined,
  person: Person | undefined
): Array<Person> | undefined => {
  if (person === undefined || (persons !== undefined && persons.length >= MOST)) return persons
  if (persons === undefined) return [person]
  const same = persons.findIndex((known) => isSame(known, person))
  if (same < 0) persons.push(person)
  else persons[same] = { ...person, ...persons[same] }
  return persons
}
