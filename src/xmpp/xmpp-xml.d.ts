/** The used part of `@xmpp/xml`, a package without types. */
declare module "@xmpp/xml" {
  import type { EventEmitter } from "node:events"

  export interface Element {
    /** The name with its prefix. */
    readonly name: string
    readonly attrs: Readonly<Record<string, string | undefined>>
    readonly children: ReadonlyArray<Element | string>
    /** The name without its prefix. */
    getName(): string
    getNS(): string | undefined
    /** The namespace of a prefix at this element. */
    findNS(prefix: string): string | undefined
    is(name: string, namespace?: string): boolean
    getChild(name: string, namespace?: string): Element | undefined
    getChildText(name: string, namespace?: string): string | null
  }

  /** Emits `start` with the stream's own element, `element` with each child, `end`, and `error`; `write` may throw, too. */
  class Parser extends EventEmitter {
    write(text: string): void
  }

  const xml: { readonly Parser: typeof Parser }
  export default xml
}
