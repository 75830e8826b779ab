import { assert, describe, it } from "@effect/vitest"
import { type Gap, type Notification, retrieveMissing, type RetrieveOptions } from "#packages/receiver/src/index.ts"
import { topic } from "./Requests.ts"

const gap = (first: number, last: number): Gap => ({ subscription: "7", topic, first, last, missing: [] })

/** An answering service; `asked` has the requests. */
const make = (answers: ReadonlyArray<object | string | Response>, options: Partial<RetrieveOptions> = {}) => {
  const asked: Array<readonly [string, string | null]> = []
  const rest = [...answers]
  const retrieve = retrieveMissing({
    url: "http://windhover.test/",
    login: "ann",
    token: "tökén",
    fetch: async (url, { headers }) => {
      asked.push([url, new Headers(headers).get("authorization")])
      const answer = rest.shift() ?? ""
      return answer instanceof Response
        ? answer
        : new Response(typeof answer === "string" ? answer : JSON.stringify(answer))
    },
    ...options
  })
  const all = async (asking: Gap): Promise<ReadonlyArray<Notification>> => {
    const found = []
    for await (const one of retrieve(asking)) found.push(one)
    return found
  }
  return { asked, all }
}

const stored = (sequence: number) => ({
  sequence,
  id: `${sequence}-7`,
  contentType: "text/plain",
  body: `é${sequence}`
})

describe("retrieveMissing", () => {
  it("reads the pages of a gap, and nothing behind it", async () => {
    const { all, asked } = make([
      { notifications: [stored(4), stored(6)], next: "x" },
      { notifications: [stored(7), stored(8)], next: "y" }
    ])
    const found = await all(gap(4, 7))
    assert.deepStrictEqual(
      found.map((
        { body, id, sequence, subscription, topic }
      ) => [id, sequence, subscription, topic, String(Buffer.from(body))]),
      [
        ["4-7", 4, "7", topic, "é4"],
        ["6-7", 6, "7", topic, "é6"],
        ["7-7", 7, "7", topic, "é7"]
      ]
    )
    const credentials = `Basic ${Buffer.from("ann:tökén").toString("base64")}`
    const url = "http://windhover.test/api/notifications?subscription=7&limit=20"
    assert.deepStrictEqual(asked, [3, 6].map((after) => [url.replace("&limit", `&after=${after}&limit`), credentials]))
  })

  it("reads feeds, and bodies that are no UTF-8", async () => {
    const feed = JSON.stringify({ status: { feed: topic }, title: "", id: topic, items: [] })
    const { all } = make([{
      notifications: [
        { sequence: 1, id: "1-7", contentType: "application/json", body: feed },
        { sequence: 2, id: "2-7", contentType: "image/png", base64: "/+8=" }
      ]
    }])
    const [first, second] = await all(gap(1, 9))
    assert.strictEqual(first?.format === "json" && first.feed.id, topic)
    assert.deepStrictEqual([...second?.body ?? []], [255, 239])
  })

  it("ends with the last page, an empty page, and for other senders", async () => {
    const last = make([{ notifications: [stored(4)] }])
    assert.strictEqual((await last.all(gap(4, 9))).length, 1)
    const empty = make([{ notifications: [], next: "x" }])
    assert.strictEqual((await empty.all(gap(4, 9))).length, 0)
    const other = make([])
    assert.deepStrictEqual(await other.all({ ...gap(4, 9), subscription: undefined }), [])
    assert.deepStrictEqual([last, empty, other].map(({ asked }) => asked.length), [1, 1, 0])
  })

  it("passes on what the service says, and recognizes another service", async () => {
    const url = "http://windhover.test/api/notifications?subscription=7&after=3&limit=20"
    const answers = [new Response("no such subscription", { status: 404 }), "<html>", "null", { notifications: [{}] }]
    const messages = []
    for (const answer of answers) messages.push(await make([answer]).all(gap(4, 4)).catch(String))
    const other = `Error: The answer to ${url} is not one of Windhover's. Does \`url\` name another service?`
    assert.deepStrictEqual(messages, [
      `Error: Windhover answered 404 to ${url}: no such subscription`,
      other,
      other,
      other
    ])
  })

  it("tells that an answer breaks off, as no answer to the sender of a notification", async () => {
    const broken = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) })
    const error = await make([new Response(broken)]).all(gap(4, 4)).catch((error: unknown) => error)
    assert.match(String(error), /^Error: The answer to .* cannot be read\.$/)
  })

  it("refuses options that cannot work", () => {
    for (const wrong of [{ url: "" }, { url: "ftp://a.test" }, { login: "" }, { token: "" }]) {
      assert.throws(() => make([], wrong), TypeError)
    }
  })
})
