/** Adds a button that copies the text of the element. */
class CopyText extends HTMLElement {
  connectedCallback(): void {
    if (this.querySelector("button") !== null || !("clipboard" in navigator)) return
    const text = this.textContent.trim()
    const button = document.createElement("button")
    button.type = "button"
    button.className = "quiet small"
    button.textContent = "Copy"
    button.addEventListener("click", () => {
      navigator.clipboard.writeText(text).then(
        () => this.#report(button, "Copied"),
        () => this.#report(button, "Not allowed")
      )
    })
    this.append(" ", button)
  }

  /** Shows the result in the button for two seconds. */
  #report(button: HTMLButtonElement, result: string): void {
    button.textContent = result
    setTimeout(() => button.textContent = "Copy", 2000)
  }
}

customElements.define("copy-text", CopyText)
