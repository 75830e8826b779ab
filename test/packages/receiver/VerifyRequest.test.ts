import { assert, describe, it } from "@effect/vitest"
import { createHmac } from "node:crypto"
import { ReceiverError, type SecretSource, type VerifyOptions, verifyRequest } from "#packages/receiver/src/index.ts"
import { post, secret, signed, standard, topic, url } from "./Requests.ts"

const verify = (request: Request, options: Partial<VerifyOptions> = {}) =>
  verifyRequest(request, { secret, ...options })

/** Code and status of a refusal; `accepted` otherwise. */
const verdict = async (request: Request, options?: Partial<VerifyOptions>): Promise<string> => {
  try {
    await verify(request, options)
    return "accepted"
  } catch (error) {
    if (error instanceof ReceiverError) return `${error.status} ${error.code}`
    throw error
  }
}

const now = () => Math.floor(Date.now() / 1000)

const hub = (method: string, value: string) => post({ body: "x", headers: { "x-hub-signature": `${method}=${value}` } })

const hmac = (method: string) => createHmac(method, secret).update("x").digest("hex")

describe("verifyRequest", () => {
  it("reads a feed in JSON", async () => {
    const notification = await verify(post(signed({ sequence: 12, id: "5-7" })))
    assert.deepInclude(notification, { id: "5-7", sequence: 12, subscription: "7", topic, format: "json" })
    assert.deepStrictEqual(notification.format === "json" && notification.feed.items, [{ id: "e-12" }])
  })

  it("reads Atom as text, and other documents as bytes", async () => {
    const atom = await verify(post(signed({ contentType: "application/atom+xml", body: "<feed>é</feed>" })))
    assert.deepInclude(atom, { format: "atom", text: "<feed>é</feed>", sequence: undefined })
    const sent: ReadonlyArray<readonly [string, string]> = [
      ["text/html", "<p>"],
      ["application/json", "[1]"],
      ["application/json", "{"],
      ["application/json", "{\"status\":{\"feed\":\"a\"},\"title\":\"\",\"id\":\"\",\"items\":[{}]}"],
      ["application/jsonx", JSON.stringify({ status: { feed: "a" }, title: "", id: "" })]
    ]
    for (const [contentType, body] of sent) {
      const document = await verify(post(signed({ contentType, body })))
      assert.deepInclude(document, { format: "document", contentType })
      assert.strictEqual(Buffer.from(document.body).toString(), body)
    }
  })

  it("knows the parts of a notification, and ids of other senders", async () => {
    assert.strictEqual((await verify(post(signed({ id: "5-7-12" })))).subscription, "7")
    assert.strictEqual((await verify(post(signed({ id: "msg_2b" })))).subscription, undefined)
  })

  it("recognizes a test by its header and its id together", async () => {
    const headers = { "x-windhover-test": "true" }
    const test = await verify(post(standard({ id: "test-1a", sequence: 0, headers })))
    assert.deepInclude(test, { id: "test-1a", test: true, sequence: undefined, subscription: undefined, topic })
    // a repeated notification stays one with the header that nothing signs
    const repeated = await verify(post(standard({ id: "5-7", sequence: 12, headers })))
    assert.deepStrictEqual([repeated.test, repeated.sequence], [undefined, 12])
    assert.strictEqual((await verify(post(standard({ id: "test-1a", sequence: 12 })))).sequence, 12)
    for (const wrong of [{ id: "test-1a" }, { id: "5-7", headers }]) {
      assert.strictEqual(await verdict(post(standard({ ...wrong, sequence: 0 }))), "400 invalid-header")
    }
  })

  it("finds the topic of another WebSub hub in Link", async () => {
    const { body, headers } = signed({})
    const { "x-pubsubhubbub-topic": _, ...others } = headers
    const link = "<http://hub.test/>; rel=\"hub\", <http://feeds.test/b>; rel=\"self\""
    assert.strictEqual((await verify(post({ body, headers: { ...others, link } }))).topic, "http://feeds.test/b")
  })

  it("accepts every method of X-Hub-Signature, and prefers SHA-256", async () => {
    for (const method of ["sha1", "sha256", "sha384", "sha512"]) {
      assert.strictEqual(await verdict(hub(method, hmac(method))), "accepted")
      assert.strictEqual(await verdict(hub(method, hmac(method).toUpperCase())), "accepted")
    }
    const both = hub("sha1", hmac("sha1"))
    both.headers.set("x-hub-signature-256", `sha256=${hmac("sha1")}`)
    assert.strictEqual(await verdict(both), "401 wrong-signature")
  })

  it("refuses other methods, broken digits, other secrets and other bodies", async () => {
    const wrong = [
      hub("md5", hmac("md5")),
      hub("constructor", hmac("sha1")),
      hub("sha256", hmac("sha256").slice(2)),
      hub("sha256", `${hmac("sha256")}00`),
      hub("sha256", "zz"),
      hub("sha256", ""),
      post(signed({}, "another secret")),
      post({ ...signed({ body: "one" }), body: "two" })
    ]
    for (const request of wrong) assert.strictEqual(await verdict(request), "401 wrong-signature")
    assert.strictEqual(await verdict(post({ headers: {}, body: "" })), "401 missing-signature")
  })

  it("checks Standard Webhooks with plain and with encoded secrets", async () => {
    assert.strictEqual(await verdict(post(standard({ sequence: 1 }))), "accepted")
    const key = Buffer.from("a key of 24 random bytes")
    const encoded = `whsec_${key.toString("base64")}`
    assert.strictEqual(await verdict(post(standard({}, key)), { secret: encoded }), "accepted")
    assert.strictEqual(await verdict(post(standard({}, encoded)), { secret: encoded }), "401 wrong-signature")
    // WebSub takes every secret as it is
    assert.strictEqual(await verdict(post(signed({}, encoded)), { secret: encoded }), "accepted")
  })

  it("protects the id, the time and the body", async () => {
    const message = standard({ id: "5-7" })
    const changes = [
      { headers: { ...message.headers, "webhook-id": "6-7" }, body: message.body },
      { headers: { ...message.headers, "webhook-timestamp": String(now() - 1) }, body: message.body },
      { headers: message.headers, body: `${message.body} ` }
    ]
    for (const change of changes) assert.strictEqual(await verdict(post(change)), "401 wrong-signature")
    const renamed = { ...message.headers, "x-windhover-notification-id": "6-7" }
    assert.strictEqual((await verify(post({ headers: renamed, body: message.body }))).id, "5-7")
  })

  it("accepts one good signature among several", async () => {
    const { body, headers } = standard({})
    const good = headers["webhook-signature"] ?? ""
    const with_ = (signature: string) => post({ body, headers: { ...headers, "webhook-signature": signature } })
    for (const signature of [`v1,AAAA ${good}`, `v1a,xx ${good} v1,BBBB`]) {
      assert.strictEqual(await verdict(with_(signature)), "accepted", signature)
    }
    for (const signature of ["", "v1,", "v1,AAAA v2,BBBB", "v1,A", good.slice(3), `${"v1,AAAA ".repeat(16)}${good}`]) {
      assert.strictEqual(await verdict(with_(signature)), "401 wrong-signature", signature)
    }
  })

  it("accepts clocks that differ by five minutes", async () => {
    for (const seconds of [-299, 299]) {
      assert.strictEqual(await verdict(post(standard({}, secret, now() + seconds))), "accepted")
    }
    for (const seconds of [-302, 302]) {
      assert.strictEqual(await verdict(post(standard({}, secret, now() + seconds))), "401 expired-timestamp")
    }
    assert.strictEqual(
      await verdict(post(standard({}, secret, now() - 20)), { toleranceSeconds: 10 }),
      "401 expired-timestamp"
    )
  })

  it("requires the other headers of Standard Webhooks", async () => {
    for (const missing of ["webhook-id", "webhook-timestamp"]) {
      const { body, headers } = standard({})
      assert.strictEqual(await verdict(post({ body, headers: { ...headers, [missing]: "" } })), "400 invalid-header")
    }
  })

  it("falls back to X-Hub-Signature only without webhook-signature, and never on request", async () => {
    const hubOnly = signed({})
    const wrong = {
      ...hubOnly.headers,
      "webhook-id": "1",
      "webhook-timestamp": String(now()),
      "webhook-signature": "v1,AAAA"
    }
    assert.strictEqual(await verdict(post({ ...hubOnly, headers: wrong })), "401 wrong-signature")
    assert.strictEqual(await verdict(post(hubOnly), { scheme: "standard" }), "401 missing-signature")
    assert.strictEqual(await verdict(post(standard({})), { scheme: "standard" }), "accepted")
  })

  it("accepts both secrets during a rotation, and secrets by request", async () => {
    for (
      const source of [["new", secret], () => secret, async () => ["new", secret]] satisfies ReadonlyArray<SecretSource>
    ) {
      assert.strictEqual(await verdict(post(standard({})), { secret: source }), "accepted")
    }
    const chosen: SecretSource = ({ headers, url: asked }) =>
      asked === url && headers.get("x-pubsubhubbub-topic") === topic ? undefined : secret
    assert.strictEqual(await verdict(post(standard({})), { secret: chosen }), "401 wrong-signature")
  })

  it("refuses an empty or damaged secret before any request", async () => {
    for (const source of ["", [], ["one", ""], "whsec_", "whsec_ü!", "whsec_AAAAA", Array(17).fill("x")]) {
      const error = await verify(post(signed({})), { secret: source }).catch((error: unknown) => error)
      assert.instanceOf(error, TypeError)
    }
  })

  it("refuses odd ids and numbers", async () => {
    for (const sequence of ["0", "-1", "1.5", "01", "1e3", "9".repeat(16), ""]) {
      assert.strictEqual(
        await verdict(post(signed({ headers: { "x-windhover-sequence": sequence } }))),
        "400 invalid-header"
      )
    }
    assert.strictEqual(await verdict(post(signed({ id: "x".repeat(257) }))), "400 invalid-header")
    assert.strictEqual(await verdict(post(signed({ id: "x".repeat(256) }))), "accepted")
  })

  it("refuses a large body, by its declared length and by its bytes", async () => {
    const message = signed({ body: "x".repeat(101) })
    const limit = { maxBodyBytes: 100 }
    assert.strictEqual(await verdict(post(message), limit), "413 too-large")
    assert.strictEqual(await verdict(post(signed({ body: "x".repeat(100) })), limit), "accepted")
    const declared = post(signed({ body: "x" }))
    declared.headers.set("content-length", "101")
    assert.strictEqual(await verdict(declared, limit), "413 too-large")
    assert.isFalse(declared.bodyUsed)
  })

  it("reads no body without a signature, and tells a body that was read before", async () => {
    const unsigned = post({ headers: {}, body: "x" })
    assert.strictEqual(await verdict(unsigned), "401 missing-signature")
    assert.isFalse(unsigned.bodyUsed)
    const used = post(signed({}))
    await used.text()
    assert.strictEqual(await verdict(used), "500 parsed-body")
  })

  it("tells a lost connection", async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error("reset")) })
    const init: RequestInit & { readonly duplex: "half" } = {
      method: "POST",
      headers: signed({}).headers,
      body,
      duplex: "half"
    }
    assert.strictEqual(await verdict(new Request(url, init)), "400 incomplete-body")
  })
})
