const units = [["day", 86_400_000], ["hour", 3_600_000], ["minute", 60_000], ["second", 1_000]] as const

const relative = new Intl.RelativeTimeFormat("en", { style: "short", numeric: "always" })
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

const describe = (differenceMs: number): string => {
  const [unit, length] = units.find(([, length]) => Math.abs(differenceMs) >= length) ?? ["second", 1_000]
  return relative.format(Math.trunc(differenceMs / length), unit)
}

customElements.define("time-ago", TimeAgo)
