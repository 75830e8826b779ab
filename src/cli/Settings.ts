import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import * as Settings from "#layers/Settings.ts"

/** Describes an unknown variable in the environment. */
export const describeUnknown = (variable: string): string =>
  `${variable} is not a setting. 'windhover settings' lists all settings.`

/** `windhover settings`: lists the settings, and reports unknown and invalid ones. */
export const settings = Command.make(
  "settings",
  {},
  Effect.fnUntraced(function*() {
    for (const { defaultText, meaning, value, variable } of yield* Settings.explain()) {
      yield* Console.log(`${variable}=${value ?? ""}\n    ${meaning} Default: ${defaultText}.`)
    }
    for (const variable of Settings.findUnknown(Object.keys(process.env))) {
      yield* Console.error(describeUnknown(variable))
    }
    yield* Settings.read()
  })
).pipe(Command.withDescription("List the settings with their meanings, values and defaults"))
