interface Inspection {
  readonly outline?: { readonly lines: ReadonlyArray<{ readonly path: string; readonly isSelected: boolean }> }
  readonly selected?: { readonly matches: number; readonly text: string; readonly isCut: boolean }
  readonly pathProblem?: string
  readonly error?: { readonly message: string }
}

/** Path of the service, which ends in a slash. */
const base = new URL("..", import.meta.url).pathname

/** Pause after the last key before the path is tried, in ms. */
const debounceMs = 400

/** Tries the path while a person types, and takes the path of a clicked place. The form works without it. */
class SelectorTester extends HTMLElement {
  #timer: ReturnType<typeof setTimeout> | undefined
  #request: AbortController | undefined

  connectedCallback(): void {
    const input = this.#input
    input?.addEventListener("input", () => {
      clearTimeout(this.#timer)
      this.#timer = setTimeout(() => void this.#try(input.value), debounceMs)
    })
    this.addEventListener("click", (event) => {
      const link = (event.target as Element).closest<HTMLAnchorElement>("a[data-path]")
      if (link === null || input === null || event.ctrlKey || event.metaKey) return
      event.preventDefault()
      input.value = link.dataset["path"] ?? ""
      void this.#try(input.value)
    })
  }

  disconnectedCallback(): void {
    clearTimeout(this.#timer)
    this.#request?.abort()
  }

  get #input(): HTMLInputElement | null {
    return this.querySelector("input[name=path]")
  }

  async #try(path: string): Promise<void> {
    this.#request?.abort()
    this.#request = new AbortController()
    const query = new URLSearchParams({ url: this.dataset["url"] ?? "" })
    if (path.trim() !== "") query.set("path", path)
    try {
      const response = await fetch(`${base}api/inspect?${query}`, { signal: this.#request.signal })
      this.#show(await response.json() as Inspection)
      this.dispatchEvent(new CustomEvent("tried", { bubbles: true }))
      for (const field of document.querySelectorAll<HTMLInputElement>("input[data-chosen-path]")) field.value = path
    } catch {
      // a later path replaced this one, or the connection broke: the form still works
    }
  }

  #show({ error, outline, pathProblem, selected }: Inspection): void {
    const say = (name: string, text: string) => {
      const place = this.querySelector(name)
      if (place !== null) place.textContent = text
    }
    const problem = error?.message ?? pathProblem
    const matches = selected?.matches ?? 0
    say(
      ".matches",
      problem ?? (selected === undefined ? "No path: the whole document is watched." : describeMatches(matches))
    )
    say(
      ".pushed code",
      problem !== undefined
        ? "Nothing: the path is wrong."
        : selected === undefined
        ? "The whole document."
        : `${selected.text}${selected.isCut ? "\n…" : ""}`
    )
    const chosen = new Set(outline?.lines.filter(({ isSelected }) => isSelected).map((line) => line.path))
    for (const row of this.querySelectorAll<HTMLElement>(".outline li")) {
      row.classList.toggle("chosen", chosen.has(row.querySelector<HTMLElement>("[data-path]")?.dataset["path"] ?? "-"))
    }
  }
}

const describeMatches = (matches: number): string =>
  matches === 0 ? "The path selects nothing." : `The path selects ${matches} ${matches === 1 ? "place" : "places"}.`

customElements.define("selector-tester", SelectorTester)
