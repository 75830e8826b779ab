/**
 * The rows of the specification's tables that concern XMPP, each limit and each error, with what shows them: the title of a conversation with the
 * service behind a real server, the name of a row in `Errors.ts`, or the title of a test whose server does what no real one does.
 */
export const specification: { readonly [table: string]: { readonly [row: string]: ReadonlyArray<string> } } = {
  "Subscribe": {
    "one resource": ["subscribes, retrieves, is notified and unsubscribes"],
    "several resources": ["lists twenty on a page, oldest first, and those of others never"],
    "node": ["no node", "a node that is no URL"],
    "jid": ["no jid", "a jid that is none", "a subscribe for somebody else"],
    "the resource part of jid is ignored": ["subscribes, retrieves, is notified and unsubscribes"],
    "the domain of an external component": [
      "speaks with an external component for all of its domain, and with nobody else for it"
    ],
    "format json": ["notifies in JSON, and in the namespace that old clients look into"],
    "format atom by default": ["subscribes, retrieves, is notified and unsubscribes"],
    "the result, with status": ["subscribes, retrieves, is notified and unsubscribes"],
    "all or nothing": ["subscribes all of the resources or none"]
  },
  "Unsubscribe": {
    "node and jid": ["subscribes, retrieves, is notified and unsubscribes"],
    "the empty result": ["subscribes, retrieves, is notified and unsubscribes"],
    "what is not subscribed": ["subscribes, retrieves, is notified and unsubscribes"]
  },
  "List": {
    "jid": ["lists twenty on a page, oldest first, and those of others never", "a list of somebody else"],
    "jid within an external component": [
      "speaks with an external component for all of its domain, and with nobody else for it"
    ],
    "page": ["lists twenty on a page, oldest first, and those of others never", "a page that is no integer"],
    "the result, with page and status": ["lists twenty on a page, oldest first, and those of others never"]
  },
  "Retrieve": {
    "node": ["subscribes, retrieves, is notified and unsubscribes", "no node to retrieve"],
    "items": ["retrieves ten entries at most, newest first"],
    "not subscribed: no items": ["subscribes, retrieves, is notified and unsubscribes"]
  },
  "Authentication": {
    "login, with password or token": ["lets its accounts log in, and loses nothing when it is killed"],
    "an alternative JID": ["speaks with an external component for all of its domain, and with nobody else for it"],
    "no account": ["refuses an address without an account, but tells it what this is"]
  },
  "Events": {
    "feed update": ["subscribes, retrieves, is notified and unsubscribes"],
    "feed error": ["tells an error by its status alone, once"],
    "JSON document change": ["notifies of what is no feed by the whole of it, with its type"],
    "other resource change": ["notifies of what is no feed by the whole of it, with its type"],
    "a credit for each": ["notifies of what is no feed by the whole of it, with its type"]
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
    "a page below 1, and one past the end": ["lists twenty on a page, oldest first, and those of others never"],
    "an iq that is no request": ["a subscribe in a get", "two payloads", "an empty pubsub"],
    "a from of no account": ["refuses an address without an account, but tells it what this is"],
    "other verbs": ["another verb", "a verb of the owner"],
    "other payloads": ["another payload"],
    "overload": [
      "of one address is told to wait, and keeps nobody else from an answer",
      "of many addresses is told to wait as well"
    ],
    "trouble inside": ["says that there is trouble inside, and what to do"],
    "an answer that no stanza holds": ["says so when an answer has no room in a stanza"],
    "results and errors that nobody asked for": [
      "of answers, errors, messages and presences that nobody asked for is passed over"
    ]
  },
  "Limits": {
    "20 resources": ["21 subscribes", "21 unsubscribes"],
    "20 a page": ["lists twenty on a page, oldest first, and those of others never"],
    "10 items": ["retrieves ten entries at most, newest first"]
  },
  "Disco and ping": {
    "what the component is": ["refuses an address without an account, but tells it what this is"],
    "what a resource is": ["says of a subscribed resource that it is a leaf", "disco of what is not subscribed"],
    "ping": ["refuses an address without an account, but tells it what this is"]
  }
}
