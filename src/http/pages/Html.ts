/**
 * Markup that is safe to send: made by `html`, or trusted by its author.
 *
 * A private field keeps other objects from passing as markup, so that stored JSON cannot do so.
 */
export class Html {
  readonly #markup: string

  private constructor(markup: string) {
    this.#markup = markup
  }

  /** Markup of this project's own renderers. Never call this with a text of a publisher or a subscriber. */
  static trusted(markup: string): Html {
    return new Html(markup)
  }

  static markupOf(html: Html): string {
    return html.#markup
  }
}

/** Attributes from `attributes`, for the inside of a tag. */
export class Attributes {
  readonly #markup: string

  constructor(markup: string) {
    this.#markup = markup
  }

  static markupOf(attributes: Attributes): string {
    return attributes.#markup
  }
}

/** A value of a template. Texts are escaped; `undefined`, `null` and booleans are empty. */
export type HtmlValue = Html | Attributes | string | number | boolean | null | undefined | ReadonlyArray<HtmlValue>

/**
 * A template of HTML. Escapes each value for its place: text, attribute, or the URL of a link.
 *
 * A URL whose scheme is not http, https, mailto or xmpp becomes `#`. Values inside scripts, styles, comments, event handlers and
 * unquoted attributes are errors of the template and throw, whatever the value.
 */
export const html = (strings: TemplateStringsArray, ...values: ReadonlyArray<HtmlValue>): Html => {
  const places = placesOf(strings)
  let markup = strings[0] ?? ""
  for (const [i, place] of places.entries()) markup += render(place, values[i]) + (strings[i + 1] ?? "")
  return Html.trusted(markup)
}

/** Attributes for the inside of a tag: `<input ${attributes({ name, required: true })}>`. True stands alone; false and undefined are left out. */
export const attributes = (
  values: { readonly [name: string]: string | number | boolean | undefined }
): Attributes => {
  let markup = ""
  for (const [name, value] of Object.entries(values)) {
    if (!/^[a-z][a-z0-9-]*$/.test(name)) throw new TypeError(`${JSON.stringify(name)} is no name of an attribute`)
    const place = placeOf(name)
    if (value === undefined || value === false) continue
    markup += value === true ? ` ${name}` : ` ${name}="${render(place, value)}"`
  }
  return new Attributes(markup)
}

/** Place of a value. */
type Place = "text" | "tag" | "attribute" | "input" | "url"

const render = (place: Place, value: HtmlValue): string => {
  if (value === undefined || value === null || typeof value === "boolean") return ""
  if (place === "text" && value instanceof Html) return Html.markupOf(value)
  if (place === "tag" && value instanceof Attributes) return Attributes.markupOf(value)
  if (place === "text" && Array.isArray(value)) return value.map((one: HtmlValue) => render(place, one)).join("")
  if (place === "tag" || (typeof value !== "string" && typeof value !== "number")) {
    throw new TypeError(`a template has a value of the wrong kind as ${place}`)
  }
  const text = String(value)
  if (place === "url") return escape(safeUrl(text))
  return escape(place === "input" ? text : showControls(text))
}

const references: { readonly [character: string]: string } = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  "\"": "&quot;",
  "'": "&#39;",
  "\r": "&#13;"
}

const escape = (text: string): string => text.replace(/[&<>"'\r]/g, (character) => references[character] ?? "")

/** Control characters that change the order or the look of other text: C0, C1, embeddings, overrides and isolates. */
const controls = /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g

/** Makes control characters visible: `⟨U+202E⟩`. */
const showControls = (text: string): string =>
  text.replace(controls, (character) => `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`)

/** The URL for a link. Browsers ignore tabs, line ends and leading spaces, which would otherwise hide a scheme. */
const safeUrl = (url: string): string => {
  const bare = url.replace(/[\t\n\r]/g, "").replace(/^[\u0000-\u0020]+/, "")
  const isSafe = /^(https?:\/\/|mailto:|xmpp:|[?#]|\/(?![/\\]))/i.test(bare)
  return isSafe ? bare.replace(controls, encodeURIComponent) : "#"
}

const urlAttributes: ReadonlySet<string> = new Set(["href", "src", "action", "formaction", "cite", "poster"])

/** Attributes whose values are code, documents or several URLs. */
const forbiddenAttributes = /^(on.*|style|srcdoc|srcset|ping|data|background|http-equiv|integrity|sandbox)$/

const placeOf = (name: string): Place => {
  if (forbiddenAttributes.test(name)) throw new TypeError(`the attribute ${name} takes no value of a template`)
  if (urlAttributes.has(name)) return "url"
  return name === "value" ? "input" : "attribute"
}

const knownPlaces = new WeakMap<TemplateStringsArray, ReadonlyArray<Place>>()

/** The places of a template's values. A template is read once. */
const placesOf = (strings: TemplateStringsArray): ReadonlyArray<Place> => {
  const known = knownPlaces.get(strings)
  if (known !== undefined) return known
  const reader = new TemplateReader()
  const places = strings.slice(0, -1).map((part) => {
    reader.read(part)
    return reader.place()
  })
  reader.read(strings.at(-1) ?? "")
  reader.end()
  knownPlaces.set(strings, places)
  return places
}

/** Elements whose content has no markup. */
const rawElements: ReadonlySet<string> = new Set([
  "script",
  "style",
  "iframe",
  "noscript",
  "noembed",
  "xmp",
  "plaintext"
])

/** Reads the constant parts of a template, and knows the place between two of them. */
class TemplateReader {
  #state: "text" | "open" | "name" | "tag" | "attribute" | "equals" | "value" | "comment" | "raw" = "text"
  #element = ""
  #attribute = ""
  #quote = ""
  #value = ""

  read(part: string): void {
    for (let i = 0; i < part.length; i++) this.#take(part[i] ?? "", part, i)
  }

  /** The place of the value that follows. Throws where no value is safe. */
  place(): Place {
    switch (this.#state) {
      case "text":
        return "text"
      case "tag":
        return "tag"
      case "value":
        return this.#placeInValue()
      default:
        throw new TypeError(`a template has a value where none is safe: in ${this.#state} of <${this.#element}>`)
    }
  }

  end(): void {
    if (this.#state !== "text") throw new TypeError(`a template ends inside <${this.#element}>`)
  }

  #placeInValue(): Place {
    const place = placeOf(this.#attribute)
    if (place !== "url" || this.#value === "") return place
    // the constant beginning has to settle the scheme and the host
    if (/^(\/[\w.-]|[?#]|https?:\/\/[\w.-]+\/)/.test(this.#value)) return "attribute"
    throw new TypeError(`the URL of ${this.#attribute} has to begin with its scheme and host, or with a path`)
  }

  #take(character: string, part: string, at: number): void {
    switch (this.#state) {
      case "text":
        if (character !== "<") return
        this.#state = part.startsWith("<!--", at) ? "comment" : "open"
        this.#element = ""
        return
      case "comment":
        if (part.startsWith("-->", at - 2)) this.#state = "text"
        return
      case "raw":
        if (part.startsWith(`</${this.#element}>`, at)) this.#state = "open"
        return
      case "open":
      case "name":
        return this.#takeName(character)
      case "tag":
      case "attribute":
      case "equals":
        return this.#takeAttribute(character)
      case "value":
        if (character === this.#quote) this.#state = "tag"
        else this.#value += character
    }
  }

  #takeName(character: string): void {
    if (/[\w!/-]/.test(character)) {
      this.#state = "name"
      this.#element += character.toLowerCase()
    } else this.#enterTag(character)
  }

  #enterTag(character: string): void {
    if (character !== ">") this.#state = "tag"
    else this.#state = rawElements.has(this.#element) ? "raw" : "text"
  }

  #takeAttribute(character: string): void {
    if (this.#state === "equals") {
      if (character !== "\"" && character !== "'") throw new TypeError("a template quotes its attributes")
      this.#state = "value"
      this.#quote = character
      this.#value = ""
    } else if (character === "=") this.#state = "equals"
    else if (/[\s/>]/.test(character)) this.#enterTag(character)
    else if (this.#state === "tag") {
      this.#state = "attribute"
      this.#attribute = character.toLowerCase()
    } else this.#attribute += character.toLowerCase()
  }
}
