import { Parser as HtmlParser } from "htmlparser2"
import { EventEmitter } from "node:events"
import { StringDecoder } from "node:string_decoder"

/** The part of node-expat that node-xmpp 0.3.1 and ltx 0.9.1 use. */
export class Parser extends EventEmitter {
  readonly #decoder = new StringDecoder("utf8")
  #stopped = false
  readonly #parser = new HtmlParser({
    onopentag: (name, attributes) => this.#tell("startElement", name, attributes),
    ontext: (text) => this.#tell("text", text),
    onclosetag: (name) => this.#tell("endElement", name)
  }, { xmlMode: true })

  parse(data: Buffer | string): boolean {
    this.#parser.write(typeof data === "string" ? data : this.#decoder.write(data))
    return true
  }

  stop(): void {
    this.#stopped = true
  }

  #tell(event: string, ...details: ReadonlyArray<unknown>): void {
    if (!this.#stopped) this.emit(event, ...details)
  }
}
