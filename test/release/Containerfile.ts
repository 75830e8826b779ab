/** An image as its Containerfile describes it, without the steps of the build. */
export interface Image {
  /** Commands of the build, in order; mounts are left out. */
  readonly steps: ReadonlyArray<string>
  readonly environment: Readonly<Record<string, string>>
  readonly user: string
  readonly volume: string
  readonly command: ReadonlyArray<string>
  readonly healthCheck: ReadonlyArray<string>
}

/** Reads the instructions that this project's Containerfile uses. Throws at any other instruction. */
export const readContainerfile = (text: string): Image => {
  const image = { steps: [] as Array<string>, environment: {} as Record<string, string>, user: "root", volume: "" }
  const words = { entrypoint: [] as Array<string>, cmd: [] as Array<string>, healthCheck: [] as Array<string> }
  const instructions = text.replace(/^#.*\n/gm, "").replaceAll("\\\n", " ").split("\n").filter((line) => line !== "")
  for (const instruction of instructions) {
    const [, name = "", rest = ""] = /^([A-Z]+) +(.*)$/.exec(instruction) ?? []
    if (name === "RUN") image.steps.push(rest.replace(/^(?:--mount=\S+ )+/, ""))
    else if (name === "ENV") {
      for (const [, key = "", value = ""] of rest.matchAll(/(\w+)=(\S+)/g)) image.environment[key] = value
    } else if (name === "USER") image.user = rest
    else if (name === "VOLUME") image.volume = rest
    else if (name === "ENTRYPOINT") words.entrypoint = JSON.parse(rest)
    else if (name === "CMD") words.cmd = JSON.parse(rest)
    else if (name === "HEALTHCHECK") words.healthCheck = JSON.parse(rest.replace(/^.*?CMD /, ""))
    else if (!["FROM", "WORKDIR", "EXPOSE", "STOPSIGNAL"].includes(name)) throw new Error(`unknown: ${instruction}`)
  }
  return { ...image, command: [...words.entrypoint, ...words.cmd], healthCheck: words.healthCheck }
}
