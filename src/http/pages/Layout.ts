import { attributes, Html, html, type HtmlValue } from "./Html.ts"
import type { Assets } from "./Assets.ts"
import { commonElements } from "./Elements.ts"
import { formTag } from "./Forms.ts"
import { navigation } from "./Navigation.ts"
import type { Content, Needs, Notice } from "./Page.ts"
import type { OpenSession } from "#http/Sessions.ts"

/** Whatever surrounds the content of a page. */
export interface Frame {
  readonly assets: Assets
  /** Value of the attribute `nonce` of scripts and styles, as the Content-Security-Policy names it. */
  readonly nonce: string
  /** Path of the request, which the navigation marks. */
  readonly path: string
  readonly version: string
  readonly viewer: OpenSession | undefined
  readonly notice: Notice | undefined
  /** True when everybody on the way can read the connection. */
  readonly isUnprotected: boolean
}

/** The whole document of a page. */
export const renderDocument = (content: Content, frame: Frame): string => {
  const { assets, nonce } = frame
  const elements = new Set([...commonElements, ...content.elements ?? []])
  return Html.markupOf(html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>${content.title} · Windhover</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<link rel="icon" href="${assets.icon}">
<link rel="stylesheet" href="${assets.style}" nonce="${nonce}">
${
    content.hasCurves === true
      ? html`<link rel="stylesheet" href="${assets.plot.style}" nonce="${nonce}">
<script src="${assets.plot.script}" nonce="${nonce}" defer></script>
`
      : undefined
  }${
    [...elements].map((name) =>
      html`<script type="module" src="${assets.elements[name]}" nonce="${nonce}"></script>
`
    )
  }</head>
<body class="${frame.viewer === undefined ? "public" : "signed-in"}">
<a class="skip" href="#content">Skip to content</a>
${renderHeader(frame)}
${frame.viewer === undefined ? undefined : renderNavigation(frame, frame.viewer)}
<main id="content" tabindex="-1">
${frame.isUnprotected ? unprotected : undefined}${renderNotice(frame.notice)}
<div class="title"><h1>${content.title}</h1>${content.tools}</div>
${content.lead === undefined ? undefined : html`<p class="lead">${content.lead}</p>`}
${content.body}
</main>
<footer>Windhover ${frame.version} · <a href="/docs">Documents</a> · <a href="/openapi.json">OpenAPI</a></footer>
</body>
</html>
`)
}

const renderHeader = ({ path, viewer }: Frame): Html =>
  html`<header>
<a class="brand" href="${
    viewer === undefined ? "/" : "/dashboard"
  }"><svg viewBox="0 0 32 32" aria-hidden="true"><path d="M4 9c5 0 9 3 12 8 3-5 7-8 12-8-5 2-8 6-9 10l-3 5-3-5C12 15 9 11 4 9z" fill="currentColor"/></svg> Windhover</a>
${
    viewer === undefined
      ? html`<div class="who"><a href="/docs">Documents</a>${
        path === "/dashboard/sign-in" ? undefined : html` <a href="/dashboard">Dashboard</a>`
      }</div>`
      : html`<div class="who"><a href="/dashboard/account">${viewer.caller.account.login}</a>
${formTag("/dashboard/sign-out", viewer, html`<button class="quiet">Sign out</button>`)}
<button class="quiet menu" popovertarget="menu" type="button">Menu</button></div>`
  }
</header>`

const renderNavigation = ({ path }: Frame, { caller }: OpenSession): Html => {
  const isAllowed = (needs: Needs) => needs === "session" || caller.rights.has(needs)
  const current = currentPath(path)
  const groups = navigation.map(({ items, label }) => ({ label, items: items.filter(({ needs }) => isAllowed(needs)) }))
  return html`<nav id="menu" popover aria-label="Dashboard">
${
    groups.filter(({ items }) => items.length > 0).map(({ items, label }) =>
      html`<h2>${label}</h2>
<ul>${
        items.map((item) =>
          html`<li><a href="${item.path}" ${
            attributes({ "aria-current": item.path === current ? "page" : undefined })
          }>${item.label}</a></li>
`
        )
      }</ul>`
    )
  }
</nav>`
}

/** The path of the navigation with the longest common beginning. */
const currentPath = (path: string): string | undefined =>
  navigation.flatMap(({ items }) => items.map((item) => item.path))
    .filter((candidate) => path === candidate || (candidate !== "/dashboard" && path.startsWith(`${candidate}/`)))
    .toSorted((a, b) => b.length - a.length)[0]

const renderNotice = (notice: Notice | undefined): HtmlValue =>
  notice === undefined
    ? undefined
    : html`<p class="notice ${notice.kind}" role="${notice.kind === "bad" ? "alert" : "status"}">${notice.text}</p>`

const unprotected =
  html`<p class="notice bad" role="note">This connection is not encrypted: anybody on the way can read your password and act as you. Serve Windhover behind a proxy with HTTPS.</p>`
