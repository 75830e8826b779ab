import type { Fetched } from "#domain/ports/Fetcher.ts"

/** Header fields that mark the page of a robot check, and the name of the service that sends the page. */
const challengeFields: ReadonlyArray<{ readonly field: string; readonly value: RegExp; readonly service: string }> = [
  { field: "cf-mitigated", value: /^challenge\b/i, service: "Cloudflare" },
  { field: "sg-captcha", value: /^challenge\b/i, service: "SiteGround" },
  { field: "x-amzn-waf-action", value: /^(?:challenge|captcha)\b/i, service: "AWS firewall" },
  { field: "x-vercel-mitigated", value: /^challenge\b/i, service: "Vercel" }
]

/** Explains a challenge, which only a browser passes and no waiting ends. Undefined for an answer without a challenge. */
export const describeChallenge = ({ headers, status }: Pick<Fetched, "headers" | "status">): string | undefined => {
  const found = challengeFields.find(({ field, value }) => value.test(headers[field]?.trim() ?? ""))
  return found === undefined
    ? undefined
    : `the publisher's ${found.service} asks for a browser (${status}); only the publisher can let other clients in`
}

/** The status "accepted": the server has not done the request yet, so that the body is no document (RFC 9110, 15.3.3). */
const acceptedStatus = 202

/** The status "partial content". Windhover never asks for a part (RFC 9110, 15.3.7). */
const partialStatus = 206

/** Successful statuses whose body is not the document, however long the server repeats it. */
export const standInStatuses: ReadonlySet<number> = new Set([acceptedStatus, partialStatus])

const acceptedText =
  "the server answers 202 (accepted, not done) with a page of a robot check or of a queue, and not with the document"

const partialText =
  "the server answers 206 with a part of the document, although the request was for the whole document"

/**
 * Explains a successful answer that has something else in place of the document: the page of a robot check or of a queue, or a part of the
 * document. Feeds never are such pages.
 */
export const describeStandIn = (answer: Pick<Fetched, "headers" | "status">): string | undefined =>
  describeChallenge(answer) ??
    (answer.status === acceptedStatus ? acceptedText : isPart(answer) ? partialText : undefined)

/** Some caches answer 206 with all bytes, and say so in Content-Range. */
const isPart = ({ headers, status }: Pick<Fetched, "headers" | "status">): boolean => {
  if (status !== partialStatus) return false
  const [, last, length] = /^bytes\s+0-(\d+)\/(\d+)$/i.exec(headers["content-range"]?.trim() ?? "") ?? []
  return last === undefined || Number(last) + 1 !== Number(length)
}
