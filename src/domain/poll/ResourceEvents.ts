import type { Event } from "#domain/Event.ts"
import type { ResourceState } from "./Resource.ts"

type ResourceEvent = Extract<Event, { readonly type: `resource.${string}` }>

/** The events of a poll, from the states before and after it: at most one about its health, and one about its redirect. */
export const resourceEvents = (before: ResourceState, after: ResourceState): ReadonlyArray<ResourceEvent> => {
  const health = healthEvent(before, after)
  const to = after.serverProfile?.permanentRedirect
  const isMoved = to?.settled === true && before.serverProfile?.permanentRedirect?.settled !== true
  return [
    ...(health === undefined ? [] : [health]),
    ...(isMoved ? [{ type: "resource.moved" as const, ...resourceOf(after), to: to.to }] : [])
  ]
}

const healthEvent = (before: ResourceState, after: ResourceState): ResourceEvent | undefined => {
  const { code = 0, http = "", inError } = after
  if (before.inError && !inError) return { type: "resource.recovered", ...resourceOf(after), code }
  if (!inError) return undefined
  if (isGone(code) && !(before.inError && isGone(before.code))) {
    return { type: "resource.gone", ...resourceOf(after), code, message: http }
  }
  return before.inError ? undefined : { type: "resource.failing", ...resourceOf(after), code, message: http }
}

const resourceOf = ({ id, url }: ResourceState) => ({ resourceId: id, topic: url })

const isGone = (code: number | undefined): boolean => code === 404 || code === 410
