import { Deferred, Effect } from "effect"
import type { Self } from "#actors/runtime/Actor.ts"
import type { FirstFetch, Message, Push, State } from "./Resource.ts"

/** Subscribers that may wait for a document of one resource. */
const maxFirstFetches = 256

/** Waiting messages or documents of one resource, up to which a pushed document is kept. */
const maxQueuedPushes = 8

/** Merges equal alarms, pings and reloads, and bounds the mailbox. */
export const join = (waiting: Array<Message>, message: Message): void => {
  if (message._tag === "FirstFetch" && waiting.length >= maxFirstFetches) return refuseFirstFetch(message)
  if (message._tag === "Push" && waiting.length >= maxQueuedPushes) {
    completePush(message)
    message = { _tag: "Ping", byHub: message.byHub }
  }
  const at = waiting.findIndex(({ _tag }) => _tag === message._tag)
  if (message._tag === "FirstFetch" || message._tag === "Push" || at < 0) waiting.push(message)
  else if (message._tag === "Ping" && message.byHub === true) waiting[at] = message
}

/** Takes all messages into the state. Tells whether the subscriptions changed, and whether the next poll has moved forward. */
export const takeMessages = (self: Self<State, Message>, state: State, now: number) => {
  let needsReload = false
  let isHastened = false
  for (let message = self.take(); message !== undefined; message = self.take()) {
    if (message._tag === "Ping") {
      noteEarlyPing(state)
      state.pingedAt = now
      state.pushedByHub ||= message.byHub === true
    }
    if (message._tag === "Push") {
      noteEarlyPing(state)
      if (state.resource.signature === undefined || state.pushes.length >= maxQueuedPushes) {
        fetchInstead(state, message, now)
      } else {
        state.pushes.push(message)
      }
    }
    if (message._tag === "PollBy" && state.resource.nextFetch > message.at) {
      state.resource = { ...state.resource, nextFetch: message.at }
      isHastened = true
    }
    if (message._tag === "Rebase") {
      state.isRebasing = true
      state.resource = { ...state.resource, nextFetch: Math.min(state.resource.nextFetch, now) }
      isHastened = true
    }
    if (message._tag === "FirstFetch") addFirstFetch(state, message)
    if (message._tag === "Reload") needsReload = true
  }
  return { needsReload, isHastened }
}

/** A ping or push makes a first document, or the new baseline, news. */
const noteEarlyPing = (state: State): void => {
  state.isRebasing = false
  if (state.resource.signature === undefined || state.firstDocument !== undefined) state.isPingedEarly = true
}

/** Plans a fetch in place of a push. A hub waits for that fetch, unless many hubs wait already. */
export const fetchInstead = (state: State, push: Push, now: number): void => {
  state.pingedAt = now
  push.document = undefined
  if (push.byHub) state.pushedByHub = true
  if (push.byHub && state.waitingForRefetch.length < maxQueuedPushes) state.waitingForRefetch.push(push.done)
  else completePush(push)
}

/** Forgets pings and pushes during a pause. The fetch at its end finds their news. */
export const dropAnnouncements = (state: State): void => {
  state.pingedAt = undefined
  for (const push of state.pushes.splice(0)) completePush(push)
}

/** Completes the waiters of a pushed document. */
export const completePush = ({ done }: Push): void => void Deferred.doneUnsafe(done, Effect.succeed(true))

/** Completes the waiters of a fetch. */
export const completeWaiting = ({ waitingForDocument, waitingForRefetch }: State): void => {
  if (waitingForDocument.length === 0 && waitingForRefetch.length === 0) return
  for (const done of [...waitingForDocument.splice(0), ...waitingForRefetch.splice(0)]) {
    Deferred.doneUnsafe(done, Effect.succeed(true))
  }
}

/** Adds a waiter. When the list is full, waiters that have given up make room. */
const addFirstFetch = ({ waitingForDocument }: State, message: FirstFetch): void => {
  if (waitingForDocument.length >= maxFirstFetches) {
    waitingForDocument.splice(0, maxFirstFetches, ...waitingForDocument.filter((done) => !Deferred.isDoneUnsafe(done)))
  }
  if (waitingForDocument.length >= maxFirstFetches) refuseFirstFetch(message)
  else waitingForDocument.push(message.done)
}

const refuseFirstFetch = ({ done }: FirstFetch): void => void Deferred.doneUnsafe(done, Effect.succeed(false))
