import { Clock, Context, Effect, Layer, Option } from "effect"
import type { Advertised } from "#domain/Advertised.ts"
import { HubClient } from "#domain/ports/HubClient.ts"
import { UpstreamStore } from "#domain/ports/UpstreamStore.ts"
import * as Model from "#domain/Upstream.ts"
import type { Self } from "./Actors.ts"
import type { Fed } from "./Fed.ts"
import { HubTrust } from "./HubTrust.ts"
import { whenAvailable } from "./Retrying.ts"
import { Turns } from "./Turns.ts"

/**
 * `Look`: the alarm. `Reload`: its row has changed, or who watches the resource. `Found`: what the resource advertises is something else.
 * `News`: a poll has found what was not pushed. `Pushed`: the hub has pushed.
 */
export type Message =
  | { readonly _tag: "Look" }
  | { readonly _tag: "Reload" }
  | {
    readonly _tag: "Found"
    readonly resource: { readonly id: number; readonly partition: number }
    readonly found: Advertised
  }
  | { readonly _tag: "News"; readonly count: number }
  | { readonly _tag: "Pushed" }

export const look: Message = { _tag: "Look" }

/** Of messages of a kind that wait the last one counts; news add up, until the hub pushes. */
export const join = (waiting: Array<Message>, message: Message): void => {
  if (message._tag === "Pushed") {
    const others = waiting.filter(({ _tag }) => _tag !== "Pushed" && _tag !== "News")
    return void waiting.splice(0, waiting.length, ...others, message)
  }
  const at = waiting.findIndex(({ _tag }) => _tag === message._tag)
  const known = waiting[at]
  if (known === undefined) return void waiting.push(message)
  waiting[at] = known._tag === "News" && message._tag === "News"
    ? { _tag: "News", count: known.count + message.count }
    : message
}

export interface State {
  upstream: Model.Upstream | undefined
  watched: boolean
  /** What a poll has found, and until when the hub may push it. */
  missing: { readonly count: number; readonly until: number } | undefined
}

/** What a subscription at a hub needs of its partition. */
export interface Surroundings {
  readonly fed: Fed
  /** Nothing is pushed any more: polls are frequent from now on. */
  readonly pollSoon: (id: number) => Effect.Effect<void>
}

export class UpstreamBehavior extends Context.Service<UpstreamBehavior, {
  /** Asks the hub when it is time; returns when something is due again. */
  readonly run: (self: Self<State, Message>, around: Surroundings) => Effect.Effect<number | undefined>
}>()("windhover/actors/Upstream/UpstreamBehavior") {}

export const layer = Layer.effect(
  UpstreamBehavior,
  Effect.gen(function*() {
    const store = yield* UpstreamStore
    const client = yield* HubClient
    const trust = yield* HubTrust
    const turns = new Turns()

    const load = Effect.fnUntraced(function*(id: number) {
      const found = Option.getOrUndefined(yield* whenAvailable(store.find(id)))
      return { upstream: found?.upstream, watched: found?.watched ?? false }
    })

    /** The row is this now. Whoever relied on the hub and cannot any more is polled. */
    const take = (state: State, id: number, upstream: Model.Upstream | undefined, around: Surroundings) => {
      const lost = state.upstream?.trusted === true && upstream?.trusted !== true
      state.upstream = upstream
      if (upstream === undefined) around.fed.delete(id)
      else around.fed.set(upstream)
      return lost ? around.pollSoon(id) : Effect.void
    }

    const reload = Effect.fnUntraced(function*(state: State, id: number, around: Surroundings) {
      const { upstream, watched } = yield* load(id)
      state.watched = watched
      yield* take(state, id, upstream, around)
    })

    /** False when the row has changed meanwhile; then the state is what it is now. */
    const save = Effect.fnUntraced(function*(state: State, next: Model.Upstream, around: Surroundings) {
      const saved = yield* whenAvailable(store.save(next))
      if (!saved) {
        yield* reload(state, next.resourceId, around)
        return false
      }
      yield* take(state, next.resourceId, { ...next, revision: next.revision + 1 }, around)
      return true
    })

    /** The hub may verify before it answers: what its refusal means depends on what the row is by then. */
    const ask = Effect.fnUntraced(
      function*(state: State, { mode, next }: Extract<Model.Step, { _tag: "Ask" }>, around: Surroundings) {
        const { callback, hub, resourceId, secret, topic } = next
        if (!(yield* save(state, next, around)) || callback === undefined || secret === undefined) return
        const leaseSeconds = Model.wantedLease
        const refusal = yield* client.ask({ hub, mode, topic, callback, secret, leaseSeconds }).pipe(
          Effect.as(undefined),
          Effect.catchTag("HubRefused", Effect.succeed)
        )
        const { upstream: asked } = state
        yield* reload(state, resourceId, around)
        if (refusal === undefined || asked === undefined || state.upstream?.revision !== asked.revision) return
        yield* Effect.logInfo(`${new URL(hub).host} does not ${mode} a topic: ${refusal.message}`)
        yield* save(state, Model.refused(asked, refusal.message, yield* Clock.currentTimeMillis), around)
      }
    )

    const hear = Effect.fnUntraced(function*(self: Self<State, Message>, state: State, around: Surroundings) {
      for (let message = self.take(); message !== undefined; message = self.take()) {
        switch (message._tag) {
          case "Look":
            break
          case "Reload":
            yield* reload(state, self.id, around)
            break
          case "Found": {
            yield* reload(state, self.id, around)
            const next = Model.found(state.upstream, message.resource, message.found)
            if (next !== undefined && (yield* save(state, next, around))) yield* reload(state, self.id, around)
            break
          }
          case "News": {
            if (state.upstream?.state !== "active") break
            const now = yield* Clock.currentTimeMillis
            const { count = 0, until = now + Model.grace } = state.missing ?? {}
            state.missing = { count: count + message.count, until }
            break
          }
          case "Pushed": {
            state.missing = undefined
            const next = state.upstream === undefined ? undefined : Model.pushed(state.upstream)
            if (next !== undefined) yield* save(state, next, around)
          }
        }
      }
    })

    /** The time for a push is over. */
    const miss = Effect.fnUntraced(
      function*(state: State, upstream: Model.Upstream, now: number, around: Surroundings) {
        const missed = state.missing?.count ?? 0
        state.missing = undefined
        trust.count({ hub: upstream.hub, pushed: 0, missed, strikes: upstream.trusted ? 1 : 0 })
        const next = Model.missed(upstream, now)
        if (next !== undefined) yield* save(state, next, around)
      }
    )

    const run = Effect.fnUntraced(function*(self: Self<State, Message>, around: Surroundings) {
      const state = self.state ??= { ...(yield* load(self.id)), missing: undefined }
      while (true) {
        yield* hear(self, state, around)
        const { missing, upstream } = state
        self.keep = missing !== undefined
        if (upstream === undefined) return undefined
        const now = yield* Clock.currentTimeMillis
        if (missing !== undefined && missing.until <= now) {
          yield* miss(state, upstream, now, around)
          continue
        }
        const step = Model.next(upstream, state.watched && trust.enabled, yield* client.fresh, now)
        if (step._tag === "Wait" || self.draining()) {
          return earliest(step._tag === "Wait" ? step.until : upstream.dueAt, missing?.until)
        }
        if (step._tag === "Save") {
          yield* save(state, step.next, around)
        } else if (step._tag === "Remove") {
          yield* whenAvailable(store.remove(upstream))
          yield* reload(state, self.id, around)
        } else {
          const turn = turns.at(self.id, upstream.hub, now)
          if (turn > now) return earliest(turn, missing?.until)
          turns.taken(self.id)
          yield* ask(state, step, around)
        }
      }
    })

    return UpstreamBehavior.of({ run })
  })
)

const earliest = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined ? b : b === undefined ? a : Math.min(a, b)
