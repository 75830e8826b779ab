import { assert, describe, it } from "@effect/vitest"
import fc from "fast-check"
import * as Jid from "#domain/Jid.ts"

describe("Jid", () => {
  it.each([
    ["ann@example.org", { local: "ann", domain: "example.org" }],
    ["ann@example.org/home", { local: "ann", domain: "example.org", resource: "home" }],
    ["ann@example.org/at@home/and/so on", { local: "ann", domain: "example.org", resource: "at@home/and/so on" }],
    ["example.org", { domain: "example.org" }],
    ["example.org/home", { domain: "example.org", resource: "home" }],
    ["[2001:DB8::1]", { domain: "[2001:db8::1]" }],
    ["Ann@Example.ORG.", { local: "ann", domain: "example.org" }],
    ["\uff41nn@example.org", { local: "ann", domain: "example.org" }],
    ["jose\u0301@xn--mnchen-3ya.example", { local: "jos\u00e9", domain: "m\u00fcnchen.example" }],
    ["d\\27artagnan@example.org", { local: "d\\27artagnan", domain: "example.org" }]
  ])("reads %s", (text, jid) => {
    assert.deepStrictEqual(Jid.parse(text), jid)
  })

  it.each([
    "",
    "@example.org",
    "ann@",
    "ann@/home",
    "ann@example.org/",
    "a nn@example.org",
    "ann\u0000@example.org",
    "\"ann\"@example.org",
    "a&b@example.org",
    "a<b@example.org",
    "a:b@example.org",
    "ann@bob@example.org",
    "ann@exa mple.org",
    "ann@exam..ple.org",
    "ann@example.org:5222",
    "ann@example.org#x",
    "ann@%65xample.org",
    "ann@example.org/\u0007",
    "\ud800@example.org",
    `${"a".repeat(1024)}@example.org`,
    `ann@example.org/${"r".repeat(1024)}`,
    "a".repeat(4000)
  ])("refuses %j", (text) => {
    assert.strictEqual(Jid.parse(text), undefined)
  })

  it("takes parts of 1023 bytes", () => {
    assert.strictEqual(Jid.bareOf(`${"a".repeat(1023)}@example.org/${"r".repeat(1023)}`)?.length, 1023 + 12)
  })

  it("reads what it writes", () => {
    fc.assert(fc.property(fc.string({ unit: "binary" }), fc.domain(), (local, domain) => {
      const jid = Jid.parse(`${local}@${domain}`)
      if (jid === undefined) return
      const { resource: _, ...rest } = jid
      assert.deepStrictEqual(Jid.parse(Jid.bare(jid)), rest)
    }))
  })

  it("ends for any text", () => {
    fc.assert(fc.property(fc.string({ unit: "binary", maxLength: 5000 }), (text) => {
      const bare = Jid.bareOf(text)
      assert.isTrue(bare === undefined || Jid.bareOf(bare) === bare)
    }))
  })
})
