import { Effect } from "effect"
import { HttpServerResponse } from "effect/http"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import { hash } from "node:crypto"
import { readFile } from "node:fs/promises"
import { createRequire, stripTypeScriptTypes } from "node:module"
import { promisify } from "node:util"
import { brotliCompress, gzip } from "node:zlib"
import { accepts } from "#http/Negotiation.ts"
import { type ElementName, elementNames } from "./Elements.ts"

/** The files of the pages, under names that change with their bytes. */
export interface Assets {
  readonly style: string
  readonly icon: string
  readonly elements: { readonly [Name in ElementName]: string }
  /** Script and style of uPlot, for pages with curves. */
  readonly plot: { readonly script: string; readonly style: string }
  /** Serves a path below `assetsPath`; undefined for an unknown one. */
  readonly serve: (request: HttpServerRequest, path: string) => HttpServerResponse.HttpServerResponse | undefined
}

export const assetsPath = "/assets/"

interface Asset {
  readonly path: string
  readonly contentType: string
  readonly encodings: { readonly identity: Uint8Array; readonly gzip: Uint8Array; readonly br: Uint8Array }
}

/** Reads, strips and compresses all files once. The sources of the elements are TypeScript whose types Node removes. */
export const loadAssets: Effect.Effect<Assets> = Effect.promise(async () => {
  // without white space that means nothing
  const sheet = (await read("style/dashboard.css")).replace(/\s*([{};,])\s*/g, "$1").replace(/:\s+/g, ":")
  const style = await makeAsset("dashboard", "css", "text/css", sheet)
  const icon = await makeAsset("icon", "svg", "image/svg+xml", await read("style/icon.svg"))
  const elements = await Promise.all(elementNames.map(async (name) => {
    const source = stripTypeScriptTypes(await read(`elements/${name}.ts`))
    return [name, await makeAsset(name, "js", "text/javascript", source)] as const
  }))
  const plotScript = await makeAsset("plot", "js", "text/javascript", await readPackage("uplot/dist/uPlot.iife.min.js"))
  const plotStyle = await makeAsset("plot", "css", "text/css", await readPackage("uplot/dist/uPlot.min.css"))
  const byPath = new Map(
    [style, icon, plotScript, plotStyle, ...elements.map(([, asset]) => asset)].map((asset) => [asset.path, asset])
  )
  return {
    style: style.path,
    icon: icon.path,
    elements: Object.fromEntries(elements.map(([name, { path }]) => [name, path])) as Assets["elements"],
    plot: { script: plotScript.path, style: plotStyle.path },
    serve: (request, path) => {
      const asset = byPath.get(path)
      return asset === undefined ? undefined : respond(request, asset)
    }
  }
})

const read = (name: string): Promise<string> => readFile(new URL(name, import.meta.url), "utf8")

const readPackage = (name: string): Promise<string> => readFile(createRequire(import.meta.url).resolve(name), "utf8")

const compressGzip = promisify(gzip)
const compressBrotli = promisify<Uint8Array, Uint8Array>(brotliCompress)

const makeAsset = async (name: string, extension: string, type: string, text: string): Promise<Asset> => {
  const identity = Buffer.from(text)
  return {
    path: `${assetsPath}${name}.${hash("sha256", identity, "base64url").slice(0, 16)}.${extension}`,
    contentType: `${type}; charset=utf-8`,
    encodings: { identity, gzip: await compressGzip(identity), br: await compressBrotli(identity) }
  }
}

const respond = ({ headers }: HttpServerRequest, asset: Asset): HttpServerResponse.HttpServerResponse => {
  const accepted = headers["accept-encoding"]
  const encoding = accepts(accepted, "br") ? "br" : accepts(accepted, "gzip") ? "gzip" : "identity"
  return HttpServerResponse.uint8Array(asset.encodings[encoding], {
    contentType: asset.contentType,
    headers: {
      "cache-control": "public, max-age=31536000, immutable",
      "cross-origin-resource-policy": "same-origin",
      vary: "Accept-Encoding",
      "x-content-type-options": "nosniff",
      ...(encoding !== "identity" && { "content-encoding": encoding })
    }
  })
}
