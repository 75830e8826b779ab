import { createHmac } from "node:crypto"
import { isEqualTo } from "#http/SecretComparison.ts"
import type { OpenSession } from "#http/Sessions.ts"
import type { Notice } from "./Page.ts"

/** Seconds for which a notice waits for the next page. */
export const noticeAgeSeconds = 60

/** Maximum characters of a notice. A browser keeps 4 kB of a cookie. */
const maxLength = 600

/** A notice as the value of a cookie, signed with the key of the session, so that nobody else puts sentences on a page. */
export const sealNotice = ({ kind, text }: Notice, viewer: OpenSession): string => {
  const body = Buffer.from(JSON.stringify([kind, text.slice(0, maxLength)])).toString("base64url")
  return `${body}.${sign(body, viewer)}`
}

/** The notice of a cookie; undefined for another session's, or a changed one. */
export const openNotice = (sealed: string | undefined, viewer: OpenSession): Notice | undefined => {
  const [body = "", signature = ""] = sealed?.split(".") ?? []
  if (body === "" || !isEqualTo(sign(body, viewer))(signature)) return undefined
  const [kind, text] = JSON.parse(Buffer.from(body, "base64url").toString()) as readonly [Notice["kind"], string]
  return { kind, text }
}

const sign = (body: string, { formToken }: OpenSession): string =>
  createHmac("sha256", formToken).update(`notice ${body}`).digest("base64url")
