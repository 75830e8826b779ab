import type { Refusal } from "#domain/Refusal.ts"
import { field, searchForm, submit } from "./Forms.ts"
import { type Html, html } from "./Html.ts"
import type { Content } from "./Page.ts"

/** The search of a list, in the keys of `hub.mode=list`. */
export const searchBox = (target: string, search: string | undefined, all: string | undefined, hint: string): Html =>
  searchForm(
    target,
    "Search",
    html`${field("search", "Search", { type: "search", value: search, hint, maxlength: 2_048 })}${
      all === undefined ? undefined : html`<input type="hidden" name="all" value="${all}">`
    }${submit("Search", { quiet: true })}`
  )

/** A list whose search has a mistake: the box keeps the text, so that a person can correct it. */
export const failedSearch = (title: string, { message }: Refusal, box: Html): Content => ({
  title,
  status: 422,
  body: html`${box}<p class="notice bad" role="alert">${message}</p>`
})
