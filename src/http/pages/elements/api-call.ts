/** Sends the request of its form, and shows the response. The login comes from the fields of the page. */
class ApiCall extends HTMLElement {
  connectedCallback(): void {
    const form = this.querySelector("form")
    const output = this.querySelector("output")
    if (form === null || output === null) return
    form.hidden = false
    form.addEventListener("submit", (event) => {
      event.preventDefault()
      void this.#run(form, output)
    })
  }

  async #run(form: HTMLFormElement, output: HTMLOutputElement): Promise<void> {
    const { body = "none", login: needsLogin, method = "GET", path = "/" } = this.dataset
    const login = valueOf("field-login")
    if (needsLogin !== undefined && login === "") {
      output.textContent = "Enter a login and a token above first."
      document.getElementById("field-login")?.focus()
      return
    }
    const { parameters, url } = readForm(form, path)
    const headers = new Headers()
    if (login !== "") headers.set("authorization", `Basic ${encode(`${login}:${valueOf("field-token")}`)}`)
    if (body === "json") headers.set("content-type", "application/json")
    output.textContent = "Waiting for the answer …"
    try {
      const response = await fetch(body === "none" ? withQuery(url, parameters) : url, {
        method,
        headers,
        ...(body !== "none" && { body: body === "json" ? toJson(parameters) : parameters })
      })
      show(output, `${response.status} ${response.statusText}`, format(await response.text()))
    } catch (error) {
      show(output, "No answer", String(error))
    }
  }
}

/** Characters of a shown body. */
const maxShown = 20_000

const show = (output: HTMLOutputElement, status: string, text: string): void => {
  const line = document.createElement("p")
  line.textContent = status
  const pre = document.createElement("pre")
  pre.tabIndex = 0
  pre.textContent = text === "" ? "(no body)" : text.slice(0, maxShown)
  output.replaceChildren(line, pre)
}

const format = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text // Atom, or a sentence
  }
}

const valueOf = (id: string): string => {
  const input = document.getElementById(id)
  return input instanceof HTMLInputElement ? input.value : ""
}

/** Base64 of UTF-8. */
const encode = (text: string): string => btoa(String.fromCharCode(...new TextEncoder().encode(text)))

const readForm = (form: HTMLFormElement, path: string) => {
  const parameters = new URLSearchParams()
  let url = path
  for (const input of form.querySelectorAll("input")) {
    if (input.dataset["inPath"] !== undefined) url = url.replace(`{${input.name}}`, encodeURIComponent(input.value))
    else if (input.value !== "") parameters.set(input.name, input.value)
  }
  return { parameters, url }
}

const withQuery = (url: string, parameters: URLSearchParams): string =>
  parameters.size === 0 ? url : `${url}?${parameters}`

/** Whole numbers and lists as JSON, other values as text. */
const toJson = (parameters: URLSearchParams): string =>
  JSON.stringify(
    Object.fromEntries(
      [...parameters].map((
        [name, value]
      ) => [name, /^(\d{1,15}|true|false|\[.*\])$/.test(value) ? JSON.parse(value) : value])
    )
  )

customElements.define("api-call", ApiCall)
