/** Script of the thread that selects for `SelectorWorker`. */
import type { Fragment } from "#domain/poll/Fragment.ts"
import type { Outline, Selection, Syntax } from "#domain/ports/Selector.ts"
import { checkCss, selectCss } from "./Css.ts"
import { checkJsonPath, selectJson } from "./JsonPath.ts"
import { messageOf, SelectionError } from "./CollectMatches.ts"
import { outline } from "./Outline.ts"
import { serveRequests } from "#layers/workers/WorkerThread.ts"

/** Selects in a document, or lists its places; without a document, checks the path only. */
export interface SelectRequest {
  readonly fragment?: Fragment
  readonly wants?: "outline"
  readonly document?: {
    readonly syntax: Syntax
    readonly bytes: Uint8Array
    readonly contentType: string | undefined
  }
}

export type SelectResponse =
  | { readonly _tag: "Selected"; readonly selection: Selection }
  | { readonly _tag: "Outlined"; readonly outline: Outline }
  | { readonly _tag: "Checked" }
  | { readonly _tag: "Failed"; readonly reason: SelectionError["reason"]; readonly message: string }

const respond = ({ document, fragment, wants }: SelectRequest): SelectResponse => {
  if (document !== undefined && wants === "outline") {
    return { _tag: "Outlined", outline: outline(document, fragment) }
  }
  if (fragment === undefined) return { _tag: "Checked" }
  const { language, path } = fragment
  if (document === undefined) {
    if (language === "css") checkCss(path)
    else checkJsonPath(path)
    return { _tag: "Checked" }
  }
  return { _tag: "Selected", selection: select(language, path, document) }
}

const utf8Encoder = new TextEncoder()

const select = (
  language: Fragment["language"],
  path: string,
  { bytes, contentType, syntax }: NonNullable<SelectRequest["document"]>
): Selection => {
  if (language === "css") {
    if (syntax === "json") throw new SelectionError("Unfit", "the document is JSON, and a CSS path selects in HTML")
    const parts = selectCss(bytes, contentType, path, syntax)
    const type = syntax === "html" ? "text/html" : "application/xml"
    return {
      matches: parts.length,
      document: { contentType: `${type}; charset=utf-8`, body: utf8Encoder.encode(parts.join("")) }
    }
  }
  if (syntax !== "json") throw new SelectionError("Unfit", "the document is not JSON, and a JSONPath selects in JSON")
  const { json, matches } = selectJson(bytes, contentType, path)
  return { matches, document: { contentType: "application/json; charset=utf-8", body: utf8Encoder.encode(json) } }
}

const respondSafely = (request: SelectRequest): SelectResponse => {
  try {
    return respond(request)
  } catch (error) {
    // Other errors come from a library at its limits: a stack overflow, a string that is too long.
    const { reason, message } = error instanceof SelectionError
      ? error
      : {
        reason: "TooMuch" as const,
        message: `the document or the path is too deep or too large (${messageOf(error)})`
      }
    return { _tag: "Failed", reason, message }
  }
}

serveRequests(respondSafely)
