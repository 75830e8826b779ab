import { Config, Effect, Layer, Option, Schema } from "effect"
import * as Jid from "#domain/Jid.ts"
import { isLoopbackHost } from "#domain/OwnAddress.ts"
import { Settings, type SettingsValues } from "#domain/ports/Settings.ts"
import { InvalidSetting, type Setting } from "#domain/Setting.ts"
import { settingsTable as table } from "#domain/SettingsTable.ts"
import { isReachable } from "#domain/websub/HubSubscription.ts"

/** One or more settings are invalid. Each problem is a sentence that names its variable. */
export class SettingsError extends Schema.TaggedError<SettingsError>()("SettingsError", {
  problems: Schema.Array(Schema.String)
}) {
  override get message(): string {
    return this.problems.join("\n")
  }
}

/** A setting as `windhover settings` shows it. */
export interface ExplainedSetting {
  readonly variable: string
  readonly meaning: string
  readonly defaultText: string
  /** The text of the variable, `(set)` for secrets; undefined if the default applies. */
  readonly value: string | undefined
}

const tableEntries: ReadonlyArray<readonly [name: string, setting: Setting<unknown>]> = Object.entries(table)

const readVariables = Effect.fnUntraced(function*() {
  const found = new Map<string, string>()
  for (const [, { variable }] of tableEntries) {
    const value = yield* Config.option(Config.String(variable))
    if (Option.isSome(value) && value.value !== "") found.set(variable, value.value)
  }
  return found
})

/** Variables of `bin/windhover` and of single commands: not settings of the service. */
const commandVariables: ReadonlySet<string> = new Set([
  "WINDHOVER_NODE",
  "WINDHOVER_ENV_FILE",
  "WINDHOVER_HANGUP",
  "WINDHOVER_URL",
  "WINDHOVER_LOGIN",
  "WINDHOVER_TOKEN",
  "WINDHOVER_PASSWORD"
])

/** Filters for variables that look like settings but are not, most likely misspelled ones. The service warns about them. */
export const findUnknown = (variables: ReadonlyArray<string>): ReadonlyArray<string> => {
  const known = new Set([...tableEntries.map(([, { variable }]) => variable), ...commandVariables])
  return variables.filter((variable) => variable.startsWith("WINDHOVER_") && !known.has(variable))
}

/** Shown in place of a secret. */
export const hiddenValue = "(set)"

/** All settings with meaning, default and current text. */
export const explain = Effect.fn("Settings.explain")(function*() {
  const found = yield* readVariables()
  return tableEntries.map(([, { defaultText, isSecret, meaning, variable }]): ExplainedSetting => {
    const value = found.get(variable)
    return { variable, meaning, defaultText, value: value !== undefined && isSecret ? hiddenValue : value }
  })
})

/** Reads and validates all settings. One error reports all problems together. */
export const read = Effect.fn("Settings.read")(function*() {
  const found = yield* readVariables()
  const problems: Array<string> = []
  const parse = ({ defaultValue, isSecret, parse, variable }: Setting<unknown>): unknown => {
    const text = found.get(variable)
    if (text === undefined) return defaultValue
    const value = parse(text)
    if (!(value instanceof InvalidSetting)) return value
    problems.push(`${variable} is ${isSecret ? "not usable" : JSON.stringify(text)}; ${value.requirement}.`)
    return defaultValue
  }
  const values = fromTable(parse)
  problems.push(...conflictsOf(values, ({ variable }) => found.has(variable)))
  const isGiven = (name: keyof SettingsValues): boolean => found.has(table[name].variable)
  return problems.length > 0 ? yield* new SettingsError({ problems }) : withDerivedDefaults(values, isGiven)
})

/** Settings from environment variables. */
export const layer = Layer.effect(Settings, read())

/** Settings as values, over the defaults: for programs that embed Windhover, for tools and for tests. */
export const layerValues = (values: Partial<SettingsValues> = {}) =>
  Layer.sync(Settings, () =>
    withDerivedDefaults(
      { ...fromTable(({ defaultValue }) => defaultValue), ...values },
      (name) => values[name] !== undefined
    ))

/** The URL of a service without a configured base URL: its port on this machine. */
export const defaultBaseUrl = (port: number): string => `http://localhost:${port}`

const fromTable = (valueOf: (setting: Setting<unknown>) => unknown): SettingsValues =>
  Object.fromEntries(tableEntries.map(([name, setting]) => [name, valueOf(setting)])) as unknown as SettingsValues

/** Defaults that follow from other settings: a service is open to the network, or to strangers, only if the operator says so. */
const withDerivedDefaults = (
  values: SettingsValues,
  isGiven: (name: keyof SettingsValues) => boolean
): SettingsValues => {
  const baseUrl = values.baseUrl === "" ? defaultBaseUrl(values.port) : values.baseUrl
  return {
    ...values,
    baseUrl,
    host: isGiven("host") ? values.host : isLoopbackHost(new URL(baseUrl).hostname) ? "127.0.0.1" : "0.0.0.0",
    hubOpen: isGiven("hubOpen") ? values.hubOpen : !isReachable(baseUrl)
  }
}

/** Settings that exclude or need each other, as sentences. */
const conflictsOf = (
  values: SettingsValues,
  isSet: (setting: Setting<unknown>) => boolean
): ReadonlyArray<string> => {
  const { databaseUrl, maxPeriodSeconds, minPeriodSeconds, runnerAddress, xmppComponent, xmppDomain } = values
  const conflicts: Array<string> = []
  if (maxPeriodSeconds !== undefined && maxPeriodSeconds < minPeriodSeconds) {
    conflicts.push(
      `${table.maxPeriodSeconds.variable} is ${maxPeriodSeconds}, less than ${table.minPeriodSeconds.variable} `
        + `(${minPeriodSeconds}); the longest period cannot be shorter than the shortest one.`
    )
  }
  if (runnerAddress !== undefined && databaseUrl === undefined) {
    conflicts.push(
      `${table.runnerAddress.variable} is set, but ${table.databaseUrl.variable} is not; runners of a cluster share one PostgreSQL.`
    )
  }
  for (const needed of isSet(table.xmppComponent) ? [table.xmppDomain, table.xmppSecret] : []) {
    if (isSet(needed)) continue
    conflicts.push(`${table.xmppComponent.variable} is set, but ${needed.variable} is not; XMPP needs both.`)
  }
  if (values.proxyLoginHeader !== undefined && values.trustedProxies.length === 0) {
    conflicts.push(
      `${table.proxyLoginHeader.variable} is set, but ${table.trustedProxies.variable} is not; name the addresses of the proxies that may sign in.`
    )
  }
  if (values.oidcIssuer !== undefined && values.oidcClientId === undefined) {
    conflicts.push(
      `${table.oidcIssuer.variable} is set, but ${table.oidcClientId.variable} is not; OpenID Connect needs both.`
    )
  }
  if (xmppComponent !== undefined && Jid.domainOf(xmppComponent) === Jid.domainOf(xmppDomain)) {
    conflicts.push(
      `${table.xmppComponent.variable} and ${table.xmppDomain.variable} are the same; a component has a name of its own, such as push.${xmppDomain}.`
    )
  }
  return conflicts
}
