import { ConfigProvider, Effect, Layer } from "effect"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Otlp from "effect/observability/Otlp"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import { version } from "#layers/outbound/Version.ts"
import { SettingsError } from "#layers/Settings.ts"
import * as NotificationTracesOtlp from "./NotificationTracesOtlp.ts"
import { readTelemetry } from "./TelemetrySettings.ts"

/**
 * Sends traces, metrics and logs to the collector that the `OTEL_*` variables name, by OTLP over HTTP. Loaded only when a collector is set.
 *
 * A collector that does not answer costs nothing but its own data: the exporters drop batches, and pause for a minute.
 */
export const layer = (environment: Readonly<Record<string, string | undefined>>) => {
  const settings = readTelemetry(environment)
  if (!("variables" in settings)) return Layer.effectDiscard(Effect.fail(new SettingsError({ problems: settings })))
  return NotificationTracesOtlp.layer(settings.sampledShare).pipe(
    Layer.provideMerge(Otlp.layerFromConfig({ resource: { serviceVersion: version } })),
    Layer.provide([
      FetchHttpClient.layer,
      settings.protocol === "http/json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf
    ]),
    Layer.provide(ConfigProvider.layer(ConfigProvider.fromEnv({ env: settings.variables })))
  )
}
