import { Effect } from "effect"
import { ProductVersion } from "#domain/ports/ProductVersion.ts"
import { Settings } from "#domain/ports/Settings.ts"
import { describeApi } from "#http/OpenApi.ts"
import { type ApiField, type ApiOperation, listOperations } from "./ApiOperations.ts"
import { field } from "./Forms.ts"
import { attributes, type Html, html } from "./Html.ts"
import { type Content, publicPage } from "./Page.ts"
import { code } from "./Parts.ts"

/** Values of the examples. They name no resource of this service, and the null device takes the notifications. */
const examplesOf = (baseUrl: string): { readonly [name: string]: string } => ({
  "hub.topic": "https://blog.example/feed",
  "hub.url": "https://blog.example/feed",
  "hub.callback": `${baseUrl}/dev/null`,
  callback: "https://app.example/hook",
  subscription: "1",
  id: "7-3-3766269347758670000",
  wait: "poll"
})

const renderReference = (operations: ReadonlyArray<ApiOperation>, baseUrl: string): Content => {
  const groups = Map.groupBy(operations, ({ group }) => group)
  return {
    title: "API reference",
    lead:
      html`All requests of this service, as in <a href="/openapi.json">/openapi.json</a>. The <a href="/docs/http">HTTP API</a> and the <a href="/docs/management">management API</a> explain them.`,
    elements: ["api-call"],
    body:
      html`<section><h2>Login</h2><p class="hint">For the examples with <em>Run</em>. This page keeps the token until it is closed. A session of the dashboard counts for paths below <code>/api</code>.</p>
<div class="row-fields">${field("login", "Login", { autocomplete: "username" })}${
        field("token", "Token or password", { type: "password", autocomplete: "current-password" })
      }</div></section>
${
        [...groups].map(([group, members]) =>
          html`<section><h2>${group}</h2>${members.map((operation) => renderOperation(operation, baseUrl))}</section>`
        )
      }`
  }
}

const renderOperation = (operation: ApiOperation, baseUrl: string): Html => {
  const { description, fields, id, method, path, summary } = operation
  const shown = fields.filter(({ fixed, name }) => !(name === "hub.mode" && fixed !== undefined))
  return html`<details class="operation" id="${id}"><summary><span class="verb">${method}</span> <code>${path}</code> <span class="muted">${summary}</span></summary>
<div class="stack">${description === "" ? undefined : html`<p>${description}</p>`}
<h3>Example</h3>${code(curlOf(operation, baseUrl))}
${renderCall(operation, baseUrl)}
${
    shown.length === 0 ?
      undefined :
      html`<h3>Parameters</h3><dl class="parameters">${
        shown.map((one) =>
          html`<div><dt><code>${one.name}</code> <span class="muted">${describeType(one)}${
            one.isRequired ? ", required" : undefined
          }</span></dt><dd>${one.description}</dd></div>`
        )
      }</dl>`
  }</div></details>
`
}

const describeType = ({ choices, type }: ApiField): string => choices.length > 0 ? choices.join(" | ") : type

/** The form that the element `api-call` sends. Without JavaScript, the example above is the way. */
const renderCall = (operation: ApiOperation, baseUrl: string): Html => {
  const { body, fields, id, method, needsLogin, path } = operation
  const examples = examplesOf(baseUrl)
  const inputs = fields.filter(({ fixed, isRequired, name }) => fixed === undefined && (isRequired || name in examples))
  const fixed = fields.filter((one) => one.fixed !== undefined && one.isRequired)
  return html`<api-call ${
    attributes({
      "data-method": method,
      "data-path": path,
      "data-body": body,
      "data-login": needsLogin && !path.startsWith("/api/")
    })
  }><form hidden aria-label="${`Run ${method} ${path} ${operation.summary}`}">${
    fixed.map(({ fixed = "", name }) => html`<input type="hidden" name="${name}" value="${fixed}">`)
  }${
    inputs.map(({ isInPath, isRequired, name }) =>
      html`<div class="field"><label for="${`${id}-${name}`}">${name}</label><input ${
        attributes({
          id: `${id}-${name}`,
          name,
          value: isRequired ? examples[name] ?? "" : "",
          placeholder: examples[name],
          required: isRequired,
          "data-in-path": isInPath,
          spellcheck: "false",
          autocomplete: "off"
        })
      }></div>`
    )
  }<button class="primary">Run</button></form><output></output></api-call>`
}

/** The request as a line for a shell. */
const curlOf = ({ body, fields, method, needsLogin, path }: ApiOperation, baseUrl: string): string => {
  const examples = examplesOf(baseUrl)
  const used = fields.filter(({ isRequired }) => isRequired).map(({ fixed, isInPath, name, type }) => ({
    name,
    isInPath,
    value: fixed ?? examples[name] ?? (type === "integer" ? "1" : "…")
  }))
  const inPath = used.filter(({ isInPath }) => isInPath).reduce(
    (url, { name, value }) => url.replace(`{${name}}`, value),
    path
  )
  const rest = used.filter(({ isInPath }) => !isInPath)
  const login = needsLogin ? " -u LOGIN:TOKEN" : ""
  if (body === "form") {
    return `curl${login} ${baseUrl}${inPath} ${rest.map(({ name, value }) => `-d ${name}=${value}`).join(" ")}`
  }
  if (body === "json") {
    const named = rest.length > 0 ? rest : [{ name: "subscription", value: "1" }]
    const json = JSON.stringify(
      Object.fromEntries(named.map(({ name, value }) => [name, name === "subscription" ? Number(value) : value]))
    )
    return `curl${login} ${baseUrl}${inPath} -H 'Content-Type: application/json' -d '${json}'`
  }
  const query = rest.map(({ name, value }) => `${name}=${value}`).join("&")
  return `curl${login} ${method === "GET" ? "" : `-X ${method} `}"${baseUrl}${inPath}${
    query === "" ? "" : `?${query}`
  }"`
}

export const referencePages = [
  publicPage(
    "/docs/reference",
    Effect.fnUntraced(function*() {
      const settings = yield* Settings
      const version = yield* ProductVersion
      return renderReference(
        listOperations(JSON.parse(JSON.stringify(describeApi(settings, version)))),
        settings.baseUrl
      )
    })
  )
]
