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
      { notifications: [stored(4), stored(6)], last: 30, next: "x" },
      { notifications: [stored(7), stored(8)], last: 30, next: "y" }
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
    const url = "http://windhover.test/api/notifications?subscription=7"
    assert.deepStrictEqual(asked, [[`${url}&after=3&limit=4`, credentials], [`${url}&after=6&limit=1`, credentials]])
  })

  it("asks for 20 notifications at most, and passes over those that are no longer stored", async () => {
    const { all, asked } = make([{ notifications: [stored(5)], last: 101 }])
    assert.deepStrictEqual((await all(gap(4, 100))).map(({ sequence }) => sequence), [5])
    assert.match(asked.map(([url]) => url).join(), /&after=3&limit=20$/)
  })

  it("recognizes a subscription of another Windhover by its last number", async () => {
    const told =
      "Error: The last notification of subscription 7 is 5, yet 6 is missing. Does `url` name another Windhover?"
    assert.strictEqual(await make([{ notifications: [stored(4)], last: 5 }]).all(gap(4, 6)).catch(String), told)
    assert.strictEqual((await make([{ notifications: [stored(4)], last: 6 }]).all(gap(4, 6))).length, 1)
  })

  it("reads feeds, and bodies that are no UTF-8", async () => {
    const feed = JSON.stringify({ status: { feed: topic }, title: "", id: topic, items: [] })
    const { all } = make([{
      notifications: [
        { sequence: 1, id: "1-7", contentType: "application/json", body: feed },
        { sequence: 2, id: "2-7", contentType: "image/png", base64: "/+8=" }
      ],
      last: 9
    }])
    const [first, second] = await all(gap(1, 9))
    assert.strictEqual(first?.format === "json" && first.feed.id, topic)
    assert.deepStrictEqual([...second?.body ?? []], [255, 239])
  })

  it("goes on behind an empty page, and ends although pages do not", async () => {
    const emptied = { notifications: [], last: 30, next: "x/y" }
    const { all, asked } = make([{ ...emptied }, { notifications: [stored(6)], last: 30, next: "z" }, emptied])
    assert.deepStrictEqual((await all(gap(4, 6))).map(({ sequence }) => sequence), [6])
    assert.deepStrictEqual(asked.map(([url]) => url.replace(/^.*subscription=7&/, "")), [
      "after=3&limit=3",
      "cursor=x%2Fy&limit=3"
    ])
    const endless = make(Array.from({ length: 9 }, () => emptied))
    assert.deepStrictEqual(await endless.all(gap(4, 6)), [])
    assert.strictEqual(endless.asked.length, 3)
  })

  it("ends with the last page, and for other senders", async () => {
    const last = make([{ notifications: [stored(4)], last: 9 }])
    assert.strictEqual((await last.all(gap(4, 9))).length, 1)
    const empty = make([{ notifications: [], last: 9 }])
    assert.strictEqual((await empty.all(gap(4, 9))).length, 0)
    const other = make([])
    assert.deepStrictEqual(await other.all({ ...gap(4, 9), subscription: undefined }), [])
    assert.deepStrictEqual([last, empty, other].map(({ asked }) => asked.length), [1, 1, 0])
  })

  it("passes on what the service says, and recognizes another service", async () => {
    const url = "http://windhover.test/api/notifications?subscription=7&after=3&limit=1"
    const answers = [
      new Response("no such subscription", { status: 404 }),
      "<html>",
      "null",
      { notifications: [{}], last: 4 },
      { notifications: [], last: 4, next: 5 },
      { notifications: [stored(4)] }
    ]
    const messages = []
    for (const answer of answers) messages.push(await make([answer]).all(gap(4, 4)).catch(String))
    const other = `Error: The answer to ${url} is not one of Windhover's. Does \`url\` name another service?`
    assert.deepStrictEqual(messages, [
      `Error: Windhover answered 404 to ${url}: no such subscription`,
      ...Array(5).fill(other)
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
