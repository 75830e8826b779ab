const units = [["d", 86_400_000], ["h", 3_600_000], ["min", 60_000], ["s", 1_000]] as const

const absolute = new Intl.DateTimeFormat("en", { dateStyle: "medium", timeStyle: "long" })

/** Keeps the age of the `time` inside current, and shows the local time as its title. */
class TimeAgo extends HTMLElement {
  #timer: ReturnType<typeof setInterval> | undefined

  connectedCallback(): void {
    const time = this.querySelector("time")
    const at = Date.parse(time?.dateTime ?? "")
    if (time === null || Number.isNaN(at)) return
    time.title = absolute.format(at)
    const update = () => time.textContent = describe(at - Date.now())
    update()
    this.#timer = setInterval(update, 20_000)
  }

  disconnectedCallback(): void {
    clearInterval(this.#timer)
  }
}

/** The same words as the service writes, so that the page stays as it is when the script begins. */
const describe = (differenceMs: number): string => {
  const [unit, length] = units.find(([, length]) => Math.abs(differenceMs) >= length) ?? ["s", 1_000]
  const distance = `${Math.trunc(Math.abs(differenceMs) / length)} ${unit}`
  return differenceMs > 0 ? `in ${distance}` : `${distance} ago`
}

customElements.define("time-ago", TimeAgo)
