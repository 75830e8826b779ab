import type { Parameters } from "#http/Parameters.ts"
import type { OpenSession } from "#http/Sessions.ts"
import { attributes, type Html, html, type HtmlValue } from "./Html.ts"

/** Name of the field with the token of the session. */
export const tokenField = "form_token"

/** A form that POSTs to an action, with the token of the session. Without a session, the form has no token. */
export const formTag = (
  path: string,
  viewer: OpenSession | undefined,
  fields: Html,
  options: { readonly class?: string; readonly label?: string } = {}
): Html =>
  html`<form method="post" action="${path}" ${attributes({ class: options.class, "aria-label": options.label })}>${
    viewer === undefined ? undefined : html`<input type="hidden" name="${tokenField}" value="${viewer.formToken}">`
  }${fields}</form>`

/** A form of a search: GET, so that its address can be shared. */
export const searchForm = (path: string, label: string, fields: Html): Html =>
  html`<form method="get" action="${path}" class="search" role="search" aria-label="${label}">${fields}</form>`

export const hidden = (name: string, value: string | number): Html =>
  html`<input type="hidden" name="${name}" value="${value}">`

/** The main button of a form. A dangerous one deletes, or cannot be taken back. */
export const submit = (label: string, options: { readonly danger?: boolean; readonly quiet?: boolean } = {}): Html =>
  html`<button class="${
    options.danger === true ? "danger" : options.quiet === true ? "quiet" : "primary"
  }">${label}</button>`

/** A form of one button, such as "Pause" or "Disable". */
export const buttonForm = (
  path: string,
  viewer: OpenSession,
  label: string,
  options: {
    readonly fields?: { readonly [name: string]: string | number }
    /** Completes the name of the button for a screen reader: "Disable" becomes "Disable ann". */
    readonly of?: string
  } = {}
): Html =>
  formTag(
    path,
    viewer,
    html`${
      Object.entries(options.fields ?? {}).map(([name, value]) => hidden(name, value))
    }<button class="quiet small">${label}${
      options.of === undefined ? undefined : html`<span class="unseen"> ${options.of}</span>`
    }</button>`,
    { class: "inline" }
  )

/** The form of a page that warns before something is lost: a dangerous button, and a link that keeps everything. */
export const confirmForm = (
  path: string,
  viewer: OpenSession,
  { fields = {}, keep, label }: {
    readonly fields?: { readonly [name: string]: string | number }
    readonly label: string
    readonly keep: { readonly path: string; readonly label: string }
  }
): Html =>
  formTag(
    path,
    viewer,
    html`${Object.entries(fields).map(([name, value]) => hidden(name, value))}<div class="tools">${
      submit(label, { danger: true })
    }<a class="button quiet" href="${keep.path}">${keep.label}</a></div>`,
    { class: "card", label }
  )

/** A link that looks like the button of `buttonForm`, to a page that asks first. */
export const dangerLink = (path: string, label: string, of?: string): Html =>
  html`<a class="button small quiet danger" href="${path}">${label}${
    of === undefined ? undefined : html`<span class="unseen"> ${of}</span>`
  }</a>`

export interface FieldOptions {
  readonly type?: "text" | "password" | "url" | "number" | "search" | "email"
  readonly value?: string | number | undefined
  /** A sentence under the field. */
  readonly hint?: HtmlValue
  readonly required?: boolean
  readonly autocomplete?: string
  readonly maxlength?: number
  readonly minlength?: number
  readonly min?: number
  readonly max?: number
  readonly placeholder?: string
  readonly autofocus?: boolean
}

/** An input with its label. The fields of a failed form keep their values; passwords do not. */
export const field = (
  name: string,
  label: string,
  { hint, type = "text", value, ...options }: FieldOptions = {},
  sent?: Parameters
): Html => {
  const kept = type === "password" ? undefined : sent?.all(name)[0] ?? value
  return html`<div class="field"><label for="${`field-${name}`}">${label}</label>
<input ${
    attributes({
      ...options,
      id: `field-${name}`,
      name,
      type,
      value: kept,
      spellcheck: "false",
      autocomplete: options.autocomplete ?? "off",
      "aria-describedby": hint === undefined ? undefined : `hint-${name}`
    })
  }>${hint === undefined ? undefined : html`<p class="hint" id="${`hint-${name}`}">${hint}</p>`}</div>`
}

export interface Choice {
  readonly value: string
  readonly label: string
}

/** A list of which one value is chosen. */
export const select = (
  name: string,
  label: string,
  choices: ReadonlyArray<Choice>,
  options: { readonly value?: string | undefined; readonly hint?: HtmlValue } = {},
  sent?: Parameters
): Html => {
  const { hint, value } = options
  const chosen = sent?.all(name)[0] ?? value
  return html`<div class="field"><label for="${`field-${name}`}">${label}</label>
<select id="${`field-${name}`}" name="${name}" ${
    attributes({ "aria-describedby": hint === undefined ? undefined : `hint-${name}` })
  }>${
    choices.map((choice) =>
      html`<option ${attributes({ value: choice.value, selected: choice.value === chosen })}>${choice.label}</option>`
    )
  }</select>${hint === undefined ? undefined : html`<p class="hint" id="${`hint-${name}`}">${hint}</p>`}</div>`
}

/** Boxes of which any number is chosen. */
export const checkboxes = (
  name: string,
  legend: string,
  choices: ReadonlyArray<Choice & { readonly checked?: boolean }>,
  sent?: Parameters
): Html => {
  const chosen = sent === undefined ? undefined : new Set(sent.all(name))
  return html`<fieldset class="boxes"><legend>${legend}</legend>${
    choices.map((choice) =>
      html`<label><input type="checkbox" ${
        attributes({ name, value: choice.value, checked: chosen?.has(choice.value) ?? choice.checked === true })
      }> ${choice.label}</label>`
    )
  }</fieldset>`
}
