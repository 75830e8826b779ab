import type { Effect } from "effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import type { Caller, Right } from "#domain/Account.ts"
import type { SettingsValues } from "#domain/ports/Settings.ts"
import type { Refusal } from "#domain/Refusal.ts"
import type { HttpRejection } from "#http/HttpRejection.ts"
import type { Parameters } from "#http/Parameters.ts"
import type { OpenSession } from "#http/Sessions.ts"
import type { ElementName } from "./Elements.ts"
import type { Html } from "./Html.ts"

/** The right of the session that a page needs; `session`: any session. */
export type Needs = Right | "session"

/** A request for a page without a sign-in. */
export interface PublicCall {
  readonly request: HttpServerRequest
  /** Parts of the path by the names in the pattern: `id` of `/dashboard/subscriptions/{id}`. */
  readonly path: { readonly [name: string]: string }
  readonly query: Parameters
  /** Fields of the form that failed, for the form that the page shows again. */
  readonly sent: Parameters | undefined
  readonly settings: SettingsValues
  /** Epoch ms. */
  readonly now: number
}

/** A request for a page with a session. */
export interface PageCall extends PublicCall {
  readonly caller: Caller
  readonly viewer: OpenSession
}

/** The content of a page between navigation and foot. */
export interface Content {
  readonly title: string
  readonly body: Html
  /** A sentence or links under the title. */
  readonly lead?: Html
  /** Buttons and links beside the title. */
  readonly tools?: Html
  /** Custom elements of the body, besides those of every page. */
  readonly elements?: ReadonlyArray<ElementName>
  /** Loads uPlot, for `traffic-curve`. */
  readonly hasCurves?: boolean
  /** 200 by default. */
  readonly status?: number
}

/** A sentence for the top of the next page. */
export interface Notice {
  readonly kind: "good" | "bad"
  readonly text: string
}

/** Result of a form: another page, or content that is shown once, such as a new token. */
export type Outcome =
  | {
    readonly _tag: "GoTo"
    readonly path: string
    readonly notice?: Notice
    /** Set-Cookie header of a sign-in or a sign-out. */
    readonly cookie?: string
  }
  | {
    /** Leaves for another site, which the operator has named. */
    readonly _tag: "Leave"
    readonly url: string
    readonly cookie: string
  }
  | {
    readonly _tag: "Show"
    readonly content: Content
    /** Set-Cookie header of a sign-in. */
    readonly cookie?: string
    /** Path of the page to which the content leads at once. */
    readonly refresh?: string
  }

export type PageError = Refusal | HttpRejection

export interface Head<Verb extends "page" | "action"> {
  readonly verb: Verb
  /** A path, whose `{name}` stands for one part. */
  readonly path: string
}

/** A page: a path, the right that its session needs, and the effect that renders its content. */
export type Page<R> =
  & Head<"page">
  & (
    | { readonly needs: Needs; readonly show: (call: PageCall) => Effect.Effect<Content, PageError, R> }
    | { readonly needs: "nothing"; readonly show: (call: PublicCall) => Effect.Effect<Content | Outcome, PageError, R> }
  )

/**
 * The target of a form.
 *
 * When the action fails, the page of the same path is shown with the error and the sent fields.
 */
export type Action<R> =
  & Head<"action">
  & (
    | {
      readonly needs: Needs
      readonly run: (form: Parameters, call: PageCall) => Effect.Effect<Outcome, PageError, R>
    }
    | {
      readonly needs: "nothing"
      readonly run: (form: Parameters, call: PublicCall) => Effect.Effect<Outcome, PageError, R>
    }
  )

export const page = <R>(
  path: string,
  needs: Needs,
  show: (call: PageCall) => Effect.Effect<Content, PageError, R>
): Page<R> => ({ verb: "page", path, needs, show })

/** A page without a sign-in. Outside of `/dashboard`, no cookie is read. */
export const publicPage = <R>(
  path: string,
  show: (call: PublicCall) => Effect.Effect<Content | Outcome, PageError, R>
): Page<R> => ({ verb: "page", path, needs: "nothing", show })

export const action = <R>(
  path: string,
  needs: Needs,
  run: (form: Parameters, call: PageCall) => Effect.Effect<Outcome, PageError, R>
): Action<R> => ({ verb: "action", path, needs, run })

export const publicAction = <R>(
  path: string,
  run: (form: Parameters, call: PublicCall) => Effect.Effect<Outcome, PageError, R>
): Action<R> => ({ verb: "action", path, needs: "nothing", run })

/** Leaves for another page, which shows the notice. */
export const goTo = (
  path: string,
  text?: string,
  kind: Notice["kind"] = "good"
): Extract<Outcome, { readonly _tag: "GoTo" }> => ({
  _tag: "GoTo",
  path,
  ...(text !== undefined && { notice: { kind, text } })
})

/** Shows content that no later request can show again. */
export const show = (content: Content): Outcome => ({ _tag: "Show", content })

/** The fitting entry of a table, and the parts of the path. A constant part wins over `{name}`. */
export const findByPath = <Entry extends { readonly path: string }>(
  entries: ReadonlyArray<Entry>,
  path: string
): { readonly entry: Entry; readonly parts: { readonly [name: string]: string } } | undefined => {
  const exact = entries.find((entry) => entry.path === path)
  if (exact !== undefined) return { entry: exact, parts: {} }
  for (const entry of entries) {
    const parts = matchPath(entry.path, path)
    if (parts !== undefined) return { entry, parts }
  }
  return undefined
}

const matchPath = (pattern: string, path: string): { readonly [name: string]: string } | undefined => {
  const wanted = pattern.split("/")
  const given = path.split("/")
  if (wanted.length !== given.length) return undefined
  const parts: { [name: string]: string } = Object.create(null)
  for (const [i, part] of wanted.entries()) {
    const value = given[i] ?? ""
    const name = /^\{(\w+)\}$/.exec(part)?.[1]
    if (name === undefined ? part !== value : value === "") return undefined
    if (name !== undefined) {
      const decoded = decodePart(value)
      if (decoded === undefined) return undefined
      parts[name] = decoded
    }
  }
  return parts
}

const decodePart = (part: string): string | undefined => {
  try {
    return decodeURIComponent(part)
  } catch {
    return undefined // no page has such a path
  }
}
