import type { Right } from "#domain/Account.ts"
import { HttpRejection } from "#http/HttpRejection.ts"
import * as Reply from "#http/Reply.ts"
import type { OpenSession } from "#http/Sessions.ts"
import { html } from "./Html.ts"
import type { Content, Needs, PageError } from "./Page.ts"

export const signInPath = "/dashboard/sign-in"

interface Problem {
  readonly title: string
  readonly message: string
  readonly status: number
}

const titles: { readonly [status: number]: string } = {
  401: "Not signed in",
  403: "Not allowed",
  404: "Not found",
  405: "Wrong method",
  422: "Not possible",
  429: "Too many requests",
  503: "Not available"
}

/** The page of an error. */
export const problemContent = (error: PageError | Problem): Content => {
  const { message, status, title } = "title" in error ? error : problemOf(error)
  return {
    title,
    status,
    body: html`<p>${message}</p><p><a href="/dashboard">Overview</a></p>`
  }
}

const problemOf = (error: PageError): Problem => {
  const { status } = error instanceof HttpRejection ? error : Reply.errorHead(error)
  return { title: titles[status] ?? "Request not understood", message: error.message, status }
}

export const notFound = (path: string): Content => ({
  title: "Not found",
  status: 404,
  body:
    html`<p>There is no page at <code>${path}</code>.</p><p><a href="/dashboard">Overview</a> · <a href="/docs">Documents</a></p>`
})

/** The page of a session without the right. */
export const forbidden = (right: Exclude<Needs, "session"> & Right, { caller }: OpenSession): Content => ({
  title: "Not allowed",
  status: 403,
  body: html`<p>This page needs the right <code>${right}</code>. This session of ${caller.account.login} has ${
    caller.rights.size === 0 ? "no right" : [...caller.rights].join(", ")
  }.</p><p>${
    right === "admin" && caller.account.admin !== true
      ? "Only operators have it. Ask an operator of this service."
      : "Sign in with the password, or with a token that has the right."
  }</p><p><a href="/dashboard">Overview</a></p>`
})
