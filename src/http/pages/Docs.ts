import { Effect } from "effect"
import { readdir, readFile } from "node:fs/promises"
import { type Html, html } from "./Html.ts"
import type { MarkdownDocument } from "./Markdown.ts"
import { type Content, publicPage } from "./Page.ts"
import { section } from "./Parts.ts"
import { notFound } from "./Problems.ts"

const root = new URL("../../../", import.meta.url)

/** Documents beside the folder `docs`. */
const rootDocuments = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"]

/** Documents of the index, in the order of a reader. */
const guides = [
  "walkthrough",
  "dashboard",
  "http",
  "webhooks",
  "receiving",
  "resources",
  "management",
  "import",
  "events",
  "xmpp"
]
const development = ["architecture", "glossary", "decisions/index", "CONTRIBUTING", "CHANGELOG"]
const operation = ["install", "backup", "monitoring", "security", "performance", "scale", "embedding"]

/** Files below the root of the project by the last part of their address: `http`, `decisions/0001-…`. */
const listFiles = async (): Promise<ReadonlyMap<string, string>> => {
  const folders = await Promise.all(["docs", "docs/decisions"].map(async (folder) => {
    const names = await readdir(new URL(`${folder}/`, root)).catch(() => []) // an installation without documents has none
    return names.map((name) => `${folder}/${name}`)
  }))
  const files = [...folders.flat(), ...rootDocuments].filter((file) => file.endsWith(".md"))
  return new Map(files.map((file) => [nameOf(file), file]))
}

const nameOf = (file: string): string => file.replace(/^docs\//, "").replace(/\.md$/, "").replace(/\/README$/, "/index")

/** The address of a link between files: pages for documents, none for sources. */
const makeResolver = (file: string, files: ReadonlyMap<string, string>) => (target: string): string | undefined => {
  if (/^(https?:|mailto:|#)/.test(target)) return target
  const { hash, pathname } = new URL(target, `file:///${file}`)
  const name = nameOf(pathname.slice(1))
  if (files.has(name)) return `/docs/${name}${hash}`
  return undefined
}

/** Reads the list of documents once, and each document at its first request. */
const makeLibrary = Effect.gen(function*() {
  const files = yield* Effect.promise(listFiles)
  const known = new Map<string, MarkdownDocument>()
  const read = Effect.fnUntraced(function*(name: string) {
    const file = files.get(name)
    const document = known.get(name)
    if (document !== undefined || file === undefined) return document
    const { renderMarkdown } = yield* Effect.promise(() => import("./Markdown.ts"))
    const text = yield* Effect.promise(() => readFile(new URL(file, root), "utf8"))
    const rendered = renderMarkdown(text, makeResolver(file, files))
    known.set(name, rendered)
    return rendered
  })
  return { files, read }
})

const library = Effect.runSync(Effect.cached(makeLibrary))

const showDocument = Effect.fnUntraced(function*(name: string): Effect.fn.Return<Content> {
  const { read } = yield* library
  const document = yield* read(name)
  if (document === undefined) return notFound(`/docs/${name}`)
  const { body, headings, title } = document
  return {
    title,
    body: html`${headings.length < 3 ? undefined : contents(headings)}<article class="document">${body}</article>`
  }
})

const contents = (headings: MarkdownDocument["headings"]): Html =>
  html`<details class="card"><summary>On this page</summary><ul>${
    headings.map(({ id, text }) => html`<li><a href="#${id}">${text}</a></li>`)
  }</ul></details>`

const indexPage = publicPage(
  "/docs",
  Effect.fnUntraced(function*() {
    const { read } = yield* library
    const list = (names: ReadonlyArray<string>) =>
      Effect.forEach(names, (name) =>
        Effect.map(read(name), (document) =>
          document === undefined
            ? html``
            : html`<li><a href="/docs/${name}">${document.title}</a><p class="hint">${document.summary}</p></li>`))
    return {
      title: "Documents",
      body: html`${
        section(
          "Use",
          html`<ul class="columns">
<li><a href="/docs/reference">API reference</a><p class="hint">All requests, with examples that run on this service.</p></li>${yield* list(
            guides
          )}</ul>`
        )
      }${section("Operate", html`<ul class="columns">${yield* list(operation)}</ul>`)}${
        section("Develop", html`<ul class="columns">${yield* list(development)}</ul>`)
      }`
    }
  })
)

export const docPages = [
  indexPage,
  publicPage("/docs/{name}", ({ path }) => showDocument(path["name"] ?? "")),
  publicPage("/docs/decisions/{name}", ({ path }) => showDocument(`decisions/${path["name"] ?? ""}`))
]
