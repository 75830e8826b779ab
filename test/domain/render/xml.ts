import { Effect, Stream } from "effect"
import { Xml } from "effect/encoding"

export type Element = Xml.Element

/** The document as a tree, by a strict parser; throws when it is not well-formed. */
export const parse = (xml: string): Element => {
  const [root] = Effect.runSync(
    Stream.make(xml).pipe(
      Stream.pipeThroughChannel(Xml.decodeString()),
      Stream.pipeThroughChannel(Xml.elements(["*"])),
      Stream.runCollect
    )
  )
  if (root === undefined) throw new Error("no root element")
  return root
}

export const children = (parent: Element): ReadonlyArray<Element> =>
  parent.children.filter((child) => typeof child !== "string")

export const names = (parent: Element): ReadonlyArray<string> => children(parent).map(({ name }) => name)

/** Character data of an element, its descendants' included. */
export const content = (element: Element): string =>
  element.children.map((child) => typeof child === "string" ? child : content(child)).join("")
