import { assert, describe, it } from "@effect/vitest"
import { isNullDevice, isOwn, nullLease } from "#domain/OwnAddress.ts"

describe("OwnAddress", () => {
  it("is one of the service, or below it", () => {
    assert.isTrue(isOwn("https://a.example/hub", "https://a.example"))
    assert.isTrue(isOwn("http://a.example/push/hub?x", "https://a.example/push"))
    assert.isTrue(isOwn("https://a.example./hub", "https://a.example"))
    assert.isFalse(isOwn("https://a.example:8443/hub", "https://a.example"))
    assert.isFalse(isOwn("https://a.example/pushy", "https://a.example/push"))
    assert.isFalse(isOwn("https://a.example/other", "https://a.example/push"))
    assert.isFalse(isOwn("https://b.example/hub", "https://a.example"))
  })

  it("is that of this machine by each of its names, at the same port", () => {
    for (
      const host of [
        "127.0.0.1",
        "[::1]",
        "LOCALHOST",
        "localhost.",
        "0.0.0.0",
        "[::]",
        "[::ffff:127.0.0.1]",
        "0x7f000001"
      ]
    ) {
      assert.isTrue(isOwn(`http://${host}:8080/`, "http://localhost:8080"), host)
      assert.isFalse(isOwn(`http://${host}:8081/`, "http://localhost:8080"), host)
    }
    assert.isFalse(isOwn("http://127.0.0.2:8080/", "http://localhost:8080"))
  })

  it.each([
    ["", undefined],
    ["?lease=3600", 3_600],
    ["?tail=a&lease=1", 60],
    ["?lease=999999999", 7_776_000],
    ["?lease=-1", undefined],
    ["?lease=1e3", undefined],
    ["?lease=", undefined],
    ["?lease=12345678901", undefined]
  ])("of the null device %j lasts for %s s", (query, seconds) => {
    assert.strictEqual(nullLease(`http://a.example/dev/null${query}`), seconds)
  })

  it("knows the null device however it is spelled", () => {
    const yes = ["/dev/null", "/dev/null/", "//dev/null", "/dev/null?feed=1"]
    const no = ["/", "/hub", "/dev", "/dev/nullx", "/dev/null%2f"]
    for (const path of yes) assert.isTrue(isNullDevice(`http://A.example:80${path}`, "http://a.example"), path)
    for (const path of no) assert.isFalse(isNullDevice(`http://a.example${path}`, "http://a.example"), path)
    assert.isTrue(isNullDevice("http://a.example/w//dev/null", "http://a.example/w"))
    assert.isFalse(isNullDevice("http://a.example/dev/null", "http://a.example/w"))
  })
})
