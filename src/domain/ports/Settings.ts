import { Context } from "effect"
import type { SettingsValues } from "#domain/SettingsTable.ts"

export type { SettingsValues }

/** Decisions of the operator, read once from the environment and validated together. `windhover settings` lists them. */
export class Settings extends Context.Service<Settings, SettingsValues>()("windhover/domain/ports/Settings") {}
