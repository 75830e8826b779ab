import { assert, describe, it } from "@effect/vitest"
import {
  BadParameter,
  Forbidden,
  NotSubscribed,
  NotVerified,
  Throttled,
  Unauthenticated,
  Unavailable
} from "#domain/Refusal.ts"
import { toCondition, unsupported } from "#xmpp/Conditions.ts"
import * as Replies from "#xmpp/Replies.ts"
import { stanza } from "#test/support/Stanza.ts"

const message = "What was wrong."

describe("Conditions", () => {
  it.each([
    [new BadParameter({ parameter: "node", message }), "modify", "not-acceptable"],
    [new BadParameter({ parameter: "hub.topic", message }), "modify", "not-acceptable"],
    [new BadParameter({ parameter: "hub.callback", message }), "modify", "bad-request"],
    [new NotSubscribed({ message }), "cancel", "unexpected-request"],
    [new NotVerified({ message }), "cancel", "not-allowed"],
    [new Unauthenticated({ message }), "auth", "forbidden"],
    [new Forbidden({ right: "xmpp", message }), "auth", "forbidden"],
    [new Throttled({ message, retryAfter: 1 }), "wait", "resource-constraint"],
    [new Unavailable({ message, retryAfter: 1 }), "wait", "internal-server-error"]
  ])("tells %o", (reason, type, name) => {
    const condition = toCondition(reason)
    assert.deepStrictEqual([condition.type, condition.name, condition.text], [type, name, message])
  })

  it("is rendered with its text and its XEP-0060 condition, without the request", () => {
    const iq = stanza("<iq type='set' id='&lt;1&gt;' from='ann@x.test/\"a\"' to='push.x.test'><secret/></iq>")
    assert.strictEqual(
      Replies.renderError(iq, unsupported("publish", "No <publish> here.")),
      `<iq type="error" from="push.x.test" to="ann@x.test/&quot;a&quot;" id="&lt;1&gt;"><error type="cancel">` +
        `<feature-not-implemented xmlns="urn:ietf:params:xml:ns:xmpp-stanzas"/>` +
        `<text xmlns="urn:ietf:params:xml:ns:xmpp-stanzas" xml:lang="en">No &lt;publish&gt; here.</text>` +
        `<unsupported xmlns="http://jabber.org/protocol/pubsub#errors" feature="publish"/></error></iq>`
    )
  })
})
