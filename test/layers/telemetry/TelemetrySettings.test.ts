import { assert, describe, it } from "@effect/vitest"
import { isTelemetryOn, readTelemetry } from "#layers/telemetry/TelemetrySettings.ts"

const collector = { OTEL_EXPORTER_OTLP_ENDPOINT: "http://localhost:4318" }

describe("telemetry", () => {
  it("is on when a collector is set, and not disabled", () => {
    assert.deepStrictEqual(
      [
        {},
        { OTEL_SERVICE_NAME: "a" },
        { OTEL_EXPORTER_OTLP_ENDPOINT: "" },
        { ...collector, OTEL_SDK_DISABLED: "TRUE" },
        collector,
        { OTEL_EXPORTER_OTLP_LOGS_ENDPOINT: "http://localhost:4318/v1/logs" }
      ].map(isTelemetryOn),
      [false, false, false, false, true, true]
    )
  })

  it("has the defaults of the standard: all signals, protobuf, each trace, the name of the service", () => {
    assert.deepStrictEqual(readTelemetry({ ...collector, PATH: "/bin", OTEL_TRACES_SAMPLER: "" }), {
      variables: {
        ...collector,
        OTEL_SERVICE_NAME: "windhover",
        OTEL_TRACES_EXPORTER: "otlp",
        OTEL_METRICS_EXPORTER: "otlp",
        OTEL_LOGS_EXPORTER: "otlp"
      },
      protocol: "http/protobuf",
      sampledShare: 1
    })
  })

  it("samples the share that the sampler names", () => {
    const share = (sampler: string, argument?: string) => {
      const settings = readTelemetry({
        ...collector,
        OTEL_TRACES_SAMPLER: sampler,
        OTEL_TRACES_SAMPLER_ARG: argument
      })
      return "variables" in settings ? settings.sampledShare : "a problem"
    }
    assert.deepStrictEqual(
      [
        share("always_on"),
        share("always_off"),
        share("traceidratio", "0.1"),
        share("parentbased_traceidratio", "0.25"),
        share("traceidratio"),
        share("traceidratio", "1.5"),
        share("traceidratio", "x"),
        share("jaeger_remote")
      ],
      [1, 0, 0.1, 0.25, 1, "a problem", "a problem", "a problem"]
    )
  })

  it("names each variable that cannot be used, without its value: a collector's URL may hold a secret", () => {
    assert.deepStrictEqual(
      readTelemetry({
        OTEL_EXPORTER_OTLP_ENDPOINT: "ftp://user:hunter2@collector",
        OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: "grpc",
        OTEL_METRIC_EXPORT_INTERVAL: "soon"
      }),
      [
        "OTEL_EXPORTER_OTLP_ENDPOINT cannot be used; the http or https URL of a collector, such as http://localhost:4318, is needed.",
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL cannot be used; http/protobuf or http/json is needed.",
        "OTEL_METRIC_EXPORT_INTERVAL cannot be used; a whole number from 1 on is needed."
      ]
    )
  })
})
