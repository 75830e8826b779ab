import { Console, Effect } from "effect"
import { Command } from "effect/cli"
import * as Settings from "#layers/Settings.ts"

/** What is said of a variable that is set in vain. */
export const noSetting = (variable: string): string =>
  `${variable} is set, but there is no such setting; 'windhover settings' lists those there are.`

/** `windhover settings`: lists what can be set, and says what is wrong with what is set. */
export const settings = Command.make(
  "settings",
  {},
  Effect.fnUntraced(function*() {
    for (const { defaultText, meaning, value, variable } of yield* Settings.explain()) {
      yield* Console.log(`${variable}=${value ?? ""}\n    ${meaning} Default: ${defaultText}.`)
    }
    for (const variable of Settings.findUnknown(Object.keys(process.env))) yield* Console.error(noSetting(variable))
    yield* Settings.read()
  })
).pipe(Command.withDescription("List the settings, what they mean, and what they are set to"))
