/**
 * Rows of the specification's tables that concern XMPP, each limit and each error, with their tests. A test is the title of a conversation
 * behind a real server, the name of a row in `Errors.ts`, or the title of a test with a scripted server.
 */
export const specification: { readonly [table: string]: { readonly [row: string]: ReadonlyArray<string> } } = {
  "Subscribe": {
    "one resource": ["subscribes, retrieves, is notified and unsubscribes"],
    "several resources": ["lists its own subscriptions, twenty per page, oldest first"],
    "node": ["no node", "a node that is no URL"],
    "jid": ["no jid", "a jid that is none", "a subscribe for somebody else"],
    "the resource part of jid is ignored": ["subscribes, retrieves, is notified and unsubscribes"],
    "the domain of an external component": [
      "lets an external component act for all addresses of its domain, and no other address"
    ],
    "format json": ["notifies in JSON, and in the namespace of old clients"],
    "format atom by default": ["subscribes, retrieves, is notified and unsubscribes"],
    "the result, with status": ["subscribes, retrieves, is notified and unsubscribes"],
    "all or nothing": ["subscribes to all resources or to none"]
  },
  "Unsubscribe": {
    "node and jid": ["subscribes, retrieves, is notified and unsubscribes"],
    "the empty result": ["subscribes, retrieves, is notified and unsubscribes"],
    "what is not subscribed": ["subscribes, retrieves, is notified and unsubscribes"]
  },
  "List": {
    "jid": ["lists its own subscriptions, twenty per page, oldest first", "a list of somebody else"],
    "jid within an external component": [
      "lets an external component act for all addresses of its domain, and no other address"
    ],
    "page": ["lists its own subscriptions, twenty per page, oldest first", "a page that is no integer"],
    "the result, with page and status": ["lists its own subscriptions, twenty per page, oldest first"]
  },
  "Retrieve": {
    "node": ["subscribes, retrieves, is notified and unsubscribes", "no node to retrieve"],
    "items": ["retrieves ten entries at most, newest first"],
    "items by their ids": ["retrieves the items that a request names", "an item without an id"],
    "not subscribed: no items": ["subscribes, retrieves, is notified and unsubscribes"]
  },
  "Authentication": {
    "login, with password or token": ["lets its accounts log in, and loses no notification after a kill"],
    "an alternative JID": ["lets an external component act for all addresses of its domain, and no other address"],
    "no account": ["refuses an address without an account, but answers service discovery"]
  },
  "Events": {
    "feed update": ["subscribes, retrieves, is notified and unsubscribes"],
    "feed error": ["notifies of an error once, by its status alone"],
    "JSON document change": ["notifies of other resources with the whole document and its type"],
    "other resource change": ["notifies of other resources with the whole document and its type"],
    "a credit for each": ["notifies of other resources with the whole document and its type"]
  },
  "Errors": {
    "more than 20 resources": ["21 subscribes", "21 unsubscribes"],
    "differing jids": ["differing jids of a subscribe", "differing jids of an unsubscribe"],
    "a jid that is not the sender's": [
      "a subscribe for somebody else",
      "an unsubscribe for somebody else",
      "a list of somebody else"
    ],
    "a jid that is none": ["a jid that is none"],
    "no node": ["no node", "no node to retrieve"],
    "no jid": ["no jid"],
    "a node that is no http(s) URL": ["a node that is no URL"],
    "a node that is too long": ["a node that is too long"],
    "an unknown format": ["an unknown format"],
    "a page that is no integer": ["a page that is no integer"],
    "a page below 1, and one past the end": ["lists its own subscriptions, twenty per page, oldest first"],
    "an iq that is no request": [
      "a subscribe in a get",
      "two payloads",
      "an empty pubsub",
      "a subscribe and an unsubscribe",
      "a verb in another namespace",
      "a ping to set"
    ],
    "a from of no account": ["refuses an address without an account, but answers service discovery"],
    "other verbs": ["another verb", "a verb of the owner", "a verb that XEP-0060 does not know"],
    "other payloads": ["another payload"],
    "overload": [
      "of one address is told to wait, and keeps nobody else from an answer",
      "of many addresses is told to wait as well"
    ],
    "trouble inside": ["reports an internal error, and the next step"],
    "an answer that no stanza holds": ["reports an answer that exceeds a stanza"],
    "results and errors that nobody asked for": [
      "of answers, errors, messages and presences that nobody asked for is passed over"
    ],
    "messages of people": ["answers a person's message once a minute, and no room, server or program"]
  },
  "Limits": {
    "20 resources": ["21 subscribes", "21 unsubscribes"],
    "20 a page": ["lists its own subscriptions, twenty per page, oldest first"],
    "10 items": ["retrieves ten entries at most, newest first", "11 items"]
  },
  "Disco and ping": {
    "what the component is": ["refuses an address without an account, but answers service discovery"],
    "what a resource is": ["describes a subscribed resource as a leaf node", "disco of what is not subscribed"],
    "ping": ["refuses an address without an account, but answers service discovery"]
  }
}
