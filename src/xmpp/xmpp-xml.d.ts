/** `@xmpp/xml` ships no types: this is the part of it that is used. */
declare module "@xmpp/xml" {
  import type { EventEmitter } from "node:events"

  export interface Element {
    /** As it was written, with its prefix. */
    readonly name: string
    readonly attrs: Readonly<Record<string, string | undefined>>
    readonly children: ReadonlyArray<Element | string>
    /** Without the prefix. */
    getName(): string
    getNS(): string | undefined
    /** The namespace that a prefix stands for here. */
    findNS(prefix: string): string | undefined
    is(name: string, namespace?: string): boolean
    getChild(name: string, namespace?: string): Element | undefined
    getChildText(name: string, namespace?: string): string | null
  }

  /** Emits `start` with the stream's own element, `element` with each of its children, `end`, and `error`; `write` throws as well. */
  class Parser extends EventEmitter {
    write(text: string): void
  }

  const xml: { readonly Parser: typeof Parser }
  export default xml
}
