interface Plot {
  setSize(size: { readonly width: number; readonly height: number }): void
  destroy(): void
}

declare const uPlot: new(
  options: object,
  data: ReadonlyArray<ReadonlyArray<number | null>>,
  target: HTMLElement
) => Plot

const height = 150

/** Draws the numbers of its table as curves. The table stays for screen readers, and without JavaScript. */
class TrafficCurve extends HTMLElement {
  #plot: Plot | undefined
  #observer: ResizeObserver | undefined
  readonly #scheme = matchMedia("(prefers-color-scheme: dark)")
  readonly #draw = () => this.#render()

  connectedCallback(): void {
    this.#render()
    this.#scheme.addEventListener("change", this.#draw)
    this.#observer = new ResizeObserver(() => {
      const width = this.#width
      if (width > 0) this.#plot?.setSize({ width, height })
    })
    this.#observer.observe(this)
  }

  disconnectedCallback(): void {
    this.#scheme.removeEventListener("change", this.#draw)
    this.#observer?.disconnect()
    this.#plot?.destroy()
  }

  get #width(): number {
    return Math.floor(this.clientWidth)
  }

  #render(): void {
    const target = this.querySelector<HTMLElement>(".plot")
    if (target === null) return
    const names = [...this.querySelectorAll("thead th")].slice(1).map((cell) => cell.textContent ?? "")
    const rows = [...this.querySelectorAll("tbody tr")].map((row) =>
      [...row.querySelectorAll<HTMLElement>("th, td")].map((cell) =>
        cell.dataset["value"] === undefined ? null : Number(cell.dataset["value"])
      )
    )
    const data = Array.from({ length: names.length + 1 }, (_, column) => rows.map((row) => row[column] ?? null))
    const style = getComputedStyle(this)
    const color = (name: string) => resolveColor(this, style.getPropertyValue(name))
    const strokes = ["--accent", "--bad"].map(color)
    const axis = { stroke: color("--muted"), grid: { stroke: color("--line"), width: 1 }, ticks: { show: false } }
    this.#plot?.destroy()
    this.#plot = new uPlot(
      {
        width: this.#width,
        height,
        legend: { show: false },
        cursor: { show: false },
        scales: { y: { range: (_: unknown, __: number, max: number) => [0, Math.max(max ?? 0, 1)] } },
        axes: [
          { ...axis, incrs: axisSteps, values: (_: unknown, times: ReadonlyArray<number>) => times.map(formatTime) },
          { ...axis, size: 44 }
        ],
        series: [
          {},
          ...names.map((label, i) => ({
            label,
            stroke: strokes[i],
            width: 1.5,
            points: { show: false },
            ...(i > 0 && { dash: [4, 3] })
          }))
        ]
      },
      data,
      target
    )
  }
}

/** Steps between two labels of the time axis, in seconds: labels have minutes only. */
const axisSteps = [1, 2, 5, 10, 15, 30, 60, 120, 240].map((minutes) => minutes * 60)

const formatTime = (seconds: number): string =>
  new Date(seconds * 1_000).toLocaleTimeString("en", { hour: "2-digit", minute: "2-digit", hourCycle: "h23" })

/** A canvas does not know `light-dark()`. */
const resolveColor = (element: HTMLElement, value: string): string => {
  const probe = document.createElement("span")
  probe.style.color = value
  element.append(probe)
  const { color } = getComputedStyle(probe)
  probe.remove()
  return color
}

customElements.define("traffic-curve", TrafficCurve)
