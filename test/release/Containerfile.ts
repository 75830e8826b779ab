/** An image as its Containerfile describes it, without the steps of the build. */
export interface Image {
  readonly base: string
  /** Commands of the build, in order; mounts are left out. */
  readonly steps: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  readonly user: string
  readonly volume: string
  readonly port: string
  readonly stopSignal: string
  readonly command: ReadonlyArray<string>
  readonly healthCheck: ReadonlyArray<string>
}

/** Reads the instructions that this project's Containerfile uses. Throws at any other instruction. */
export const readContainerfile = (text: string): Image => {
  const image = { steps: [] as Array<string>, environment: {} as Record<string, string> }
  const values: Record<string, string> = {}
  const instructions = text.replace(/^#.*\n/gm, "").replaceAll("\\\n", " ").split("\n").filter((line) => line !== "")
  for (const instruction of instructions) {
    const [, name = "", rest = ""] = /^([A-Z]+) +(.*)$/.exec(instruction) ?? []
    if (name === "RUN") image.steps.push(rest.replace(/^(?:--mount=\S+ )+/, ""))
    else if (name === "ENV") {
      for (const [, key = "", value = ""] of rest.matchAll(/(\w+)=(\S+)/g)) image.environment[key] = value
    } else if (single.includes(name) && values[name] === undefined) values[name] = rest
    else throw new Error(`unknown or repeated: ${instruction}`)
  }
  const wordsOf = (name: string): Array<string> => JSON.parse(values[name]?.replace(/^.*?CMD /, "") ?? "[]")
  return {
    ...image,
    base: values["FROM"] ?? "",
    user: values["USER"] ?? "root",
    volume: values["VOLUME"] ?? "",
    port: values["EXPOSE"] ?? "",
    stopSignal: values["STOPSIGNAL"] ?? "SIGTERM",
    command: [...wordsOf("ENTRYPOINT"), ...wordsOf("CMD")],
    healthCheck: wordsOf("HEALTHCHECK")
  }
}

/** Instructions with one occurrence. */
const single = ["FROM", "USER", "WORKDIR", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"]
