import { Console, Effect } from "effect"
import { Command, Flag } from "effect/cli"
import * as Settings from "#layers/Settings.ts"

/** Describes an unknown variable in the environment. */
export const describeUnknown = (variable: string): string =>
  `${variable} is not a setting. 'windhover settings' lists all settings.`

/** A setting as lines of a file for `WINDHOVER_ENV_FILE`. Unset settings and secrets are comments. */
export const renderForFile = ({ defaultText, meaning, value, variable }: Settings.ExplainedSetting): string => {
  const comment = `# ${meaning} Default: ${defaultText}.`
  if (value === undefined) return `${comment}\n#${variable}=\n`
  return value === Settings.hiddenValue
    ? `${comment} This secret is set; write its value here.\n#${variable}=\n`
    : `${comment}\n${variable}=${quoteForFile(value)}\n`
}

/** Quotes a value that Node's reader of such files would cut or change otherwise. */
const quoteForFile = (value: string): string => {
  if (/^[\w@%+=:,./-]*$/.test(value)) return value
  const quote = ["'", "`", "\""].find((mark) => !value.includes(mark)) ?? "'"
  return `${quote}${value}${quote}`
}

/** `windhover settings`: lists the settings, and reports unknown and invalid ones. */
export const settings = Command.make(
  "settings",
  {
    env: Flag.Boolean("env").pipe(
      Flag.withDescription("Print a file for WINDHOVER_ENV_FILE with all settings, secrets left out"),
      Flag.withDefault(false)
    )
  },
  Effect.fnUntraced(function*({ env }) {
    for (const setting of yield* Settings.explain()) {
      const { defaultText, meaning, value, variable } = setting
      yield* Console.log(
        env ? renderForFile(setting) : `${variable}=${value ?? ""}\n    ${meaning} Default: ${defaultText}.`
      )
    }
    for (const variable of Settings.findUnknown(Object.keys(process.env))) {
      yield* Console.error(describeUnknown(variable))
    }
    yield* Settings.read()
  })
).pipe(Command.withDescription("List the settings with their meanings, values and defaults"))
