/**
 * Rows of the specification's tables that concern HTTP, and each limit, with the conversations that show them.
 *
 * Tests with a test clock show slow behaviour: the second and third retry (`test/actors/subscription/Subscription.test.ts`),
 * polling periods (`test/domain/poll/PollingInterval.test.ts`), maintenance and velocity (`test/domain/poll/Maintenance.test.ts`).
 */
export const specification: { readonly [table: string]: { readonly [row: string]: ReadonlyArray<string> } } = {
  "Kinds of resources": {
    "an XML feed: new entries, normalized": ["publish", "kind-feed"],
    "a JSON document, whole": ["kind-json"],
    "an HTML fragment by its CSS path": ["kind-html-fragment"],
    "a JSON fragment by its JSONPath": ["kind-json-fragment"],
    "any other resource, whole": ["kind-bytes", "kind-bytes-in-format"]
  },
  "What the service does": {
    "generated ids are reported": ["status-generated-ids"],
    "a recently updated entry is sent again": ["notification-updated"],
    "a resource that enters its error state makes a notification": ["notification-error"],
    "redirects are followed": ["redirects"],
    "the null device": ["subscribe-null-device", "notification-credits"]
  },
  "Fields of a subscription": {
    "format": ["list-search-format", "subscribe-format"],
    "endpoint": ["subscribe"],
    "secret": ["subscribe-twice"],
    "feed.title": ["subscribe-null-device"],
    "feed.url": ["subscribe"]
  },
  "Status": {
    "feed": ["status"],
    "http": ["status"],
    "http[@code]": ["status"],
    "next_fetch": ["status"],
    "title": ["status"],
    "entries_count_since_last_maintenance": ["status"],
    "velocity": ["status"],
    "popularity": ["status"],
    "porn_rank": ["status"],
    "bozo_rank": ["status"],
    "period": ["status"],
    "last_fetch": ["status"],
    "last_parse": ["status"],
    "last_maintenance_at": ["status"],
    "generated_ids": ["status-generated-ids"],
    "in notifications": ["publish", "publish-json"],
    "in answers to subscribe": ["subscribe-retrieve"],
    "in a detailed list": ["list-detailed", "status-everywhere"]
  },
  "Entries in Atom": {
    "xml:lang": ["entry-fields-atom"],
    "id": ["entry-fields-atom"],
    "title": ["entry-fields-atom"],
    "published": ["entry-fields-atom"],
    "updated": ["entry-fields-atom"],
    "content": ["entry-fields-atom"],
    "summary": ["entry-fields-atom"],
    "link": ["entry-fields-atom"],
    "category": ["entry-fields-atom"],
    "point": ["entry-fields-atom"],
    "author": ["entry-fields-atom"],
    "verb": ["entry-fields-atom"],
    "object": ["entry-fields-atom"],
    "source": ["entry-fields-atom"]
  },
  "Items in JSON": {
    "id": ["entry-fields-json"],
    "title": ["entry-fields-json"],
    "content": ["entry-fields-json"],
    "published, updated": ["entry-fields-json"],
    "permalinkUrl": ["entry-fields-json"],
    "language": ["entry-fields-json"],
    "verb": ["entry-fields-json"],
    "categories": ["entry-fields-json"],
    "geo": ["entry-fields-json"],
    "standardLinks": ["entry-fields-json"],
    "links": ["entry-fields-json"],
    "actor": ["entry-fields-json"],
    "object": ["entry-fields-json"],
    "source": ["entry-fields-json"]
  },
  "Subscribe": {
    "hub.mode": ["subscribe", "modes"],
    "hub.topic": ["subscribe-topic-missing", "subscribe-topic-no-url"],
    "hub.callback": ["subscribe-callback-wrong"],
    "hub.secret": ["publish", "publish-json"],
    "hub.verify=sync": ["subscribe-verified-sync"],
    "hub.verify=async": ["subscribe-verified-async"],
    "format": ["subscribe-format"],
    "retrieve": ["subscribe-retrieve"],
    "204 performed": ["subscribe"],
    "202 pending": ["subscribe-verified-async"],
    "200 with the content": ["subscribe-retrieve", "subscribe-retrieve-failing"],
    "422 with the reason": ["subscribe-verified-sync-error", "subscribe-verified-sync-no-echo"],
    "the same pair keeps one subscription": ["subscribe-twice"],
    "another callback is another subscription": ["subscribe-two-callbacks"]
  },
  "Unsubscribe": {
    "hub.mode": ["unsubscribe"],
    "hub.topic": ["unsubscribe-not-subscribed"],
    "hub.callback": ["unsubscribe-single", "unsubscribe-several"],
    "hub.verify=sync": ["unsubscribe-verified-sync"],
    "hub.verify=async": ["unsubscribe-verified-async"],
    "204 success": ["unsubscribe"],
    "202 pending": ["unsubscribe-verified-async"],
    "422 with the reason": ["unsubscribe-not-subscribed"]
  },
  "List": {
    "hub.mode": ["subscribe"],
    "page": ["list-pages", "list-bounds"],
    "by_page": ["list-pages", "list-bounds"],
    "search": ["list-search"],
    "detailed": ["list-detailed"],
    "oldest first": ["subscribe-two-callbacks"],
    "200 with a JSON list": ["subscribe"],
    "JSONP": ["list-script"]
  },
  "Keys of a search": {
    "format": ["list-search-format"],
    "feed.url": ["list-search-feed-url"],
    "feed.inurl": ["list-search-feed-inurl"],
    "feed.hostname": ["list-search-feed-hostname"],
    "feed.velocity": ["list-search-feed-velocity"],
    "feed.bozo": ["list-search-feed-bozo"],
    "feed.porn": ["list-search-feed-porn"],
    "feed.popularity": ["list-search-feed-popularity"],
    "endpoint.jid": ["list-search-endpoint-jid"],
    "endpoint.domain": ["list-search-endpoint-domain"],
    "endpoint.url": ["list-search-endpoint-url"],
    "endpoint.inurl": ["list-search-endpoint-inurl"],
    "endpoint.hostname": ["list-search-endpoint-hostname"]
  },
  "Retrieve": {
    "hub.mode": ["retrieve-json", "retrieve-status"],
    "hub.topic": ["retrieve-json"],
    "hub.callback": ["retrieve-callback"],
    "hub.callback as a search": ["retrieve-search"],
    "count": ["retrieve-count"],
    "before": ["retrieve-before-after"],
    "after": ["retrieve-before-after"],
    "format": ["retrieve-json", "retrieve-atom"],
    "callback": ["retrieve-script"],
    "200 with status and items": ["retrieve-json"],
    "ETag": ["retrieve-not-modified"],
    "404 not subscribed": ["retrieve-not-subscribed"],
    "422 with the reason": ["retrieve-count"]
  },
  "Stream": {
    "wait=stream": ["stream-lines", "stream-atom"],
    "wait=poll": ["stream-poll", "stream-poll-document"],
    "the parameters of retrieve": ["stream-parameters", "stream-callback"],
    "server-sent events": ["stream-events"],
    "the token as a parameter": ["authentication-parameter", "stream-events"]
  },
  "Replay": {
    "hub.mode": ["replay"],
    "hub.topic": ["replay-not-subscribed"],
    "hub.callback": ["replay-not-subscribed"],
    "count": ["replay-count"],
    "async": ["replay-async"],
    "204 performed": ["replay"],
    "404 not subscribed": ["replay-not-subscribed"],
    "422 with the reason": ["replay-failing"],
    "the right to retrieve": ["replay-right"]
  },
  "Callbacks": {
    "verification of intent": ["subscribe-verified-sync", "unsubscribe-verified-sync"],
    "notification": ["publish"]
  },
  "Authentication": {
    "HTTP Basic": ["authentication"],
    "the parameter authorization": ["authentication-parameter"],
    "rights of a token": ["authentication-rights", "authentication-mode"],
    "a public token": ["token-public"],
    "signed notifications": ["publish"],
    "an unavailable store": ["database-away"]
  },
  "Events": {
    "feed update": ["publish", "publish-json"],
    "feed error": ["notification-error"],
    "JSON document change": ["kind-json"],
    "other resource change": ["kind-bytes"],
    "verification of intent": ["subscribe-verified-sync"],
    "server-sent event": ["stream-events"]
  },
  "Headers of a notification": {
    "X-Service-Credits": ["notification-credits"],
    "X-PubSubHubbub-Callback": ["publish"],
    "X-PubSubHubbub-Topic": ["publish"],
    "Content-Type": ["publish", "publish-json"],
    "X-Service-Retried": ["notification-retried"],
    "PubSubHubbub-Version of answers": ["subscribe"]
  },
  "Errors": {
    "subscribe 204": ["subscribe"],
    "subscribe 202": ["subscribe-verified-async"],
    "subscribe 200": ["subscribe-retrieve"],
    "subscribe 422": ["subscribe-parameters-wrong"],
    "unsubscribe 204": ["unsubscribe"],
    "unsubscribe 202": ["unsubscribe-verified-async"],
    "unsubscribe 422": ["unsubscribe-not-subscribed"],
    "list 200": ["subscribe"],
    "retrieve 200": ["retrieve-json"],
    "retrieve 404": ["retrieve-not-subscribed"],
    "retrieve 422": ["retrieve-count"],
    "replay 204": ["replay"],
    "replay 404": ["replay-not-subscribed"],
    "replay 422": ["replay-failing"],
    "other statuses": ["methods", "parameters"]
  },
  "Limits": {
    "hub.topic, 2048 characters": ["subscribe-topic-length"],
    "hub.callback, 250 characters (2048 here)": ["subscribe-callback-length"],
    "by_page, 1 to 500": ["list-bounds"],
    "count of retrieve, 10 and 50": ["retrieve-count"],
    "count of replay, 1 and 50": ["replay-count"],
    "fewer than 200 feeds for a callback": ["retrieve-too-many"],
    "5 redirects": ["redirects"],
    "the window of recent updates": ["notification-updated"],
    "retries after 5 s": ["notification-retried"]
  },
  "Publish": {
    "all spellings": ["publish-spellings"],
    "a ping": ["publish"],
    "content and its signature": ["publish-content"]
  }
}
