interface LiveEvent {
  readonly kind: "delivered" | "failed" | "fetched" | "fetch-failed"
  readonly at: number
  readonly resource?: number
  readonly url?: string
  readonly subscription?: number
  readonly topic?: string
  readonly callback?: string
  readonly code: number
  readonly news?: number
  readonly message?: string
}

/** Rows that the feed keeps. */
const maxRows = 30

/** Characters of a URL in a row. */
const maxShown = 120

/** Path of the service, which ends in a slash. */
const base = new URL("..", import.meta.url).pathname

/**
 * Adds live events above the rows of its list.
 *
 * The connection exists only while the page is visible. The list keeps its scroll position and the focus.
 */
class LiveFeed extends HTMLElement {
  #source: EventSource | undefined
  readonly #onVisibility = () => this.#follow()

  connectedCallback(): void {
    document.addEventListener("visibilitychange", this.#onVisibility)
    this.#follow()
  }

  disconnectedCallback(): void {
    document.removeEventListener("visibilitychange", this.#onVisibility)
    this.#source?.close()
  }

  #follow(): void {
    this.#source?.close()
    this.#source = undefined
    if (document.hidden) return this.#say("Paused")
    const source = new EventSource(this.dataset["src"] ?? `${base}api/live`)
    source.onopen = () => this.#say("Live")
    source.onerror = () =>
      this.#say(source.readyState === EventSource.CLOSED ? "Ended; reload the page" : "Connecting…")
    source.addEventListener(
      "live",
      ({ data }) => this.#add(JSON.parse(data) as { readonly events: ReadonlyArray<LiveEvent> })
    )
    this.#source = source
  }

  #say(state: string): void {
    const place = this.querySelector(".live-state")
    if (place !== null) place.textContent = state
  }

  #add({ events }: { readonly events: ReadonlyArray<LiveEvent> }): void {
    const list = this.querySelector("ol")
    if (list === null) return
    const before = list.scrollHeight
    for (const event of events) list.prepend(makeRow(event))
    for (const row of [...list.children].slice(maxRows)) {
      if (!row.contains(document.activeElement)) row.remove()
    }
    if (list.scrollTop > 0) list.scrollTop += list.scrollHeight - before
    this.querySelector(".empty")?.remove()
  }
}

const tones = { delivered: "good", failed: "bad", fetched: "idle", "fetch-failed": "bad" } as const

/** Shows characters that would change the order or the look of other text. */
const visible = (text: string): string =>
  text.replace(
    /[\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069]/g,
    (character) => `⟨U+${character.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}⟩`
  )

const makeRow = (event: LiveEvent): HTMLLIElement => {
  const row = document.createElement("li")
  const time = document.createElement("time")
  time.dateTime = new Date(event.at).toISOString()
  time.textContent = "0 s ago"
  const age = document.createElement("time-ago")
  age.append(time)
  const state = document.createElement("span")
  state.className = `status ${tones[event.kind]}`
  const name = document.createElement("a")
  const isFetch = event.resource !== undefined
  state.textContent = describe(event)
  name.href = isFetch
    ? `${base}dashboard/resources/${event.resource}`
    : `${base}dashboard/subscriptions/${event.subscription}`
  name.append(makeAddress((isFetch ? event.url : event.topic) ?? ""))
  row.append(age, state, name)
  if (event.callback !== undefined) {
    const target = document.createElement("span")
    target.className = "muted"
    target.append(makeAddress(event.callback, "→\u00a0"))
    row.append(target)
  }
  return row
}

/** A URL: a long one loses its middle, and its title has all of it. */
const makeAddress = (url: string, before = ""): HTMLElement => {
  const shown = visible(url)
  const place = document.createElement("bdi")
  place.className = "address"
  place.textContent = before +
    (shown.length <= maxShown ? shown : `${shown.slice(0, maxShown - 30)}…${shown.slice(-29)}`)
  if (shown.length > maxShown) place.title = shown
  return place
}

const describe = ({ code, kind, news = 0 }: LiveEvent): string => {
  switch (kind) {
    case "delivered":
      return "Delivered"
    case "failed":
      return code > 0 ? `Failed ${code}` : "Failed"
    case "fetched":
      return news > 0 ? `${news} new` : "Fetched"
    case "fetch-failed":
      return code > 0 ? `Fetch failed ${code}` : "Fetch failed"
  }
}

customElements.define("live-feed", LiveFeed)
