/** Settings of the telemetry, from the `OTEL_*` variables of OpenTelemetry. */
export interface TelemetrySettings {
  /** The variables, with the defaults of the standard. Effect's exporters read the rest themselves. */
  readonly variables: Readonly<Record<string, string>>
  readonly protocol: "http/protobuf" | "http/json"
  /** Share of the traces that are exported. */
  readonly sampledShare: number
}

const signals = ["TRACES", "METRICS", "LOGS"]

const endpointVariables = [
  "OTEL_EXPORTER_OTLP_ENDPOINT",
  ...signals.map((signal) => `OTEL_EXPORTER_OTLP_${signal}_ENDPOINT`)
]

const protocolVariables = [
  "OTEL_EXPORTER_OTLP_PROTOCOL",
  ...signals.map((signal) => `OTEL_EXPORTER_OTLP_${signal}_PROTOCOL`)
]

const integerVariables = [
  "OTEL_EXPORTER_OTLP_TIMEOUT",
  ...signals.map((signal) => `OTEL_EXPORTER_OTLP_${signal}_TIMEOUT`),
  "OTEL_BSP_SCHEDULE_DELAY",
  "OTEL_BSP_EXPORT_TIMEOUT",
  "OTEL_BSP_MAX_EXPORT_BATCH_SIZE",
  "OTEL_BLRP_SCHEDULE_DELAY",
  "OTEL_BLRP_EXPORT_TIMEOUT",
  "OTEL_BLRP_MAX_EXPORT_BATCH_SIZE",
  "OTEL_METRIC_EXPORT_INTERVAL",
  "OTEL_METRIC_EXPORT_TIMEOUT"
]

type Variables = Readonly<Record<string, string | undefined>>

/** True when a collector is set, and the telemetry is not turned off. */
export const isTelemetryOn = (environment: Variables): boolean =>
  environment["OTEL_SDK_DISABLED"]?.toLowerCase() !== "true"
  && endpointVariables.some((name) => (environment[name] ?? "") !== "")

/** Share of the sampler, or undefined for an unknown one. A trace begins here, so a parent decides nothing. */
const shareOf = (sampler: string, argument: string): number | undefined => {
  const name = sampler.replace(/^parentbased_/, "")
  if (name === "always_on") return 1
  if (name === "always_off") return 0
  const share = argument === "" ? 1 : Number(argument)
  return name === "traceidratio" && share >= 0 && share <= 1 ? share : undefined
}

const isHttpUrl = (text: string): boolean => URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)

/** Reads and validates the variables. Returns the problems, as sentences, when one cannot be used. */
export const readTelemetry = (environment: Variables): TelemetrySettings | ReadonlyArray<string> => {
  const given = Object.fromEntries(
    Object.entries(environment).filter((entry): entry is [string, string] =>
      entry[0].startsWith("OTEL_") && entry[1] !== undefined && entry[1] !== ""
    )
  )
  const problems: Array<string> = []
  const check = (names: ReadonlyArray<string>, isUsable: (text: string) => boolean, needed: string) => {
    for (const name of names) {
      const text = given[name]
      if (text !== undefined && !isUsable(text)) problems.push(`${name} cannot be used; ${needed} is needed.`)
    }
  }
  check(endpointVariables, isHttpUrl, "the http or https URL of a collector, such as http://localhost:4318,")
  check(protocolVariables, (text) => text === "http/protobuf" || text === "http/json", "http/protobuf or http/json")
  check(integerVariables, (text) => /^[1-9]\d{0,8}$/.test(text), "a whole number from 1 on")
  const protocol = protocolVariables.map((name) => given[name]).find((text) => text !== undefined)
  const sampledShare = shareOf(given["OTEL_TRACES_SAMPLER"] ?? "always_on", given["OTEL_TRACES_SAMPLER_ARG"] ?? "")
  if (sampledShare === undefined) {
    problems.push(
      "OTEL_TRACES_SAMPLER or OTEL_TRACES_SAMPLER_ARG cannot be used; always_on, always_off, or traceidratio with a share from 0 to 1 is needed."
    )
  }
  if (problems.length > 0 || sampledShare === undefined) return problems
  const exporters = Object.fromEntries(signals.map((signal) => [`OTEL_${signal}_EXPORTER`, "otlp"]))
  return {
    variables: { OTEL_SERVICE_NAME: "windhover", ...exporters, ...given },
    protocol: protocol === "http/json" ? "http/json" : "http/protobuf",
    sampledShare
  }
}
