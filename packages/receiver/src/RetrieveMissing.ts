import { readBody } from "./Body.ts"
import { decodeBase64 } from "./Base64.ts"
import type { Gap } from "./Gap.ts"
import { type Notification, toNotification } from "./Notification.ts"

export interface RetrieveOptions {
  /** URL of Windhover, such as https://windhover.example. */
  readonly url: string
  readonly login: string
  /** A token with the right `retrieve`, or the password. */
  readonly token: string
  /** Replaces `fetch`, for example to go through a proxy. */
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
}

/** A page of `GET /api/notifications`. */
interface Page {
  readonly notifications: ReadonlyArray<{
    readonly sequence: number
    readonly id: string
    readonly contentType: string
    /** The body, if it is UTF-8; else `base64`. */
    readonly body?: string
    readonly base64?: string
  }>
  /** Last sequence of the subscription. Lower ones that no page has are no longer stored, or belong to a replay. */
  readonly last: number
  /** Cursor of the following page, if any. A page can be empty and have one. */
  readonly next?: string
}

/** Maximum notifications of a page. */
const maxPageSize = 20

const maxPageBytes = 256 * 1024 * 1024

const timeoutMs = 30_000

/**
 * Makes an `onGap` that retrieves the missing notifications from Windhover, as long as they are kept.
 *
 * Other senders have no such route: for their gaps the function returns nothing.
 */
export const retrieveMissing = (options: RetrieveOptions): (gap: Gap) => AsyncGenerator<Notification> => {
  const base = options.url.replace(/\/+$/, "")
  if (!/^https?:\/\//i.test(base) || options.login === "" || options.token === "") {
    throw new TypeError("`retrieveMissing` needs the http(s) URL of Windhover, a login and a token.")
  }
  return async function*(gap) {
    if (gap.subscription === undefined) return
    let after = gap.first - 1
    let cursor: string | undefined
    // each page passes one number at least
    for (let pages = gap.last - after; pages > 0 && after < gap.last; pages--) {
      const limit = Math.min(gap.last - after, maxPageSize)
      const begin = cursor === undefined ? `after=${after}` : `cursor=${encodeURIComponent(cursor)}`
      const page = await readPage(
        options,
        `${base}/api/notifications?subscription=${gap.subscription}&${begin}&limit=${limit}`
      )
      if (page.last < gap.last) throw wrongService(gap, page.last)
      for (const { base64, body, contentType, id, sequence } of page.notifications) {
        if (sequence > gap.last) return
        after = Math.max(after, sequence)
        yield toNotification({
          id,
          sequence,
          subscription: gap.subscription,
          topic: gap.topic,
          contentType,
          body: body === undefined ? decodeBase64(base64 ?? "") ?? new Uint8Array() : encoder.encode(body),
          headers: new Headers({ "content-type": contentType })
        })
      }
      if (page.next === undefined) return
      cursor = page.notifications.length === 0 ? page.next : undefined
    }
  }
}

/** The notification behind the gap has a higher number, so the answer is about another subscription. */
const wrongService = ({ last, subscription }: Gap, known: number): Error =>
  new Error(
    `The last notification of subscription ${subscription} is ${known}, yet ${last} is missing. Does \`url\` name another Windhover?`
  )

const readPage = async ({ fetch: send = fetch, login, token }: RetrieveOptions, url: string): Promise<Page> => {
  const credentials = encoder.encode(`${login}:${token}`)
  const authorization = `Basic ${btoa(String.fromCharCode(...credentials))}`
  const response = await send(url, {
    headers: { authorization, accept: "application/json" },
    redirect: "manual", // a redirect would carry the credentials to another place
    signal: AbortSignal.timeout(timeoutMs)
  })
  const body = await readAnswer(response, url)
  const text = new TextDecoder().decode(body)
  if (response.status !== 200) throw new Error(`Windhover answered ${response.status} to ${url}: ${text.slice(0, 500)}`)
  return readPageJson(text, url)
}

/** Errors of a body tell a sender of notifications what to do, and must not reach it as the answer to a notification. */
const readAnswer = async (response: Response, url: string): Promise<Uint8Array> => {
  try {
    return (await readBody(response, maxPageBytes, { maxBytes: Infinity, used: 0 })).body
  } catch (cause) {
    throw new Error(`The answer to ${url} cannot be read.`, { cause })
  }
}

const readPageJson = (text: string, url: string): Page => {
  const page = parseJson(text)
  if (!isPage(page)) {
    throw new Error(`The answer to ${url} is not one of Windhover's. Does \`url\` name another service?`)
  }
  return page
}

const parseJson = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

const isPage = (value: unknown): value is Page =>
  typeof value === "object" && value !== null && "notifications" in value && Array.isArray(value.notifications) &&
  "last" in value && Number.isSafeInteger(value.last) &&
  (!("next" in value) || typeof value.next === "string") &&
  value.notifications.every((one: unknown) =>
    typeof one === "object" && one !== null && "sequence" in one && Number.isSafeInteger(one.sequence) &&
    "id" in one && typeof one.id === "string" && "contentType" in one && typeof one.contentType === "string"
  )

const encoder = new TextEncoder()
