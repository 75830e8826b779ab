"""slixmpp with its stock XEP-0060 plugin, driven by a test: client.py PORT JID PASSWORD COMPONENT, see test/support/ThirdPartyClient.ts."""

import asyncio
import json
import sys
import xml.etree.ElementTree as ElementTree

import slixmpp

port, jid, password, component = sys.argv[1:]


def write(line):
    print(json.dumps(line), flush=True)


def entry_of(item):
    """The entry of an item as the plugin hands it over: its name, the id of the item, and the texts in it."""
    entry = item["payload"]
    return {"": entry.tag, "item": item["id"], **{child.tag.partition("}")[2]: child.text for child in entry if child.text}}


def items_of(stanza):
    return {"node": stanza["items"]["node"], "entries": [entry_of(item) for item in stanza["items"]["substanzas"]]}


def subscription_of(subscription):
    return {name: str(subscription[name]) for name in ("node", "jid", "subscription")}


class Client(slixmpp.ClientXMPP):
    def __init__(self):
        super().__init__(jid, password)
        self.register_plugin("xep_0030")
        self.register_plugin("xep_0060")
        self["feature_mechanisms"].unencrypted_plain = True  # on loopback
        self.add_event_handler("session_start", self.started)
        self.add_event_handler("failed_auth", lambda _: sys.exit("not authorized"))
        self.add_event_handler("feed_publish", self.published)

    async def started(self, _):
        self.send_presence()
        write({"event": "connected"})
        commands = asyncio.StreamReader()
        await self.loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(commands), sys.stdin)
        while line := await commands.readline():
            command = json.loads(line)
            try:
                write({"id": command["id"], "result": await self.perform(command["verb"], command["url"])})
            except slixmpp.exceptions.IqError as error:
                write({"id": command["id"], "error": error.condition})
        self.disconnect()

    async def perform(self, verb, url):
        pubsub = self["xep_0060"]
        if verb == "subscribe":
            pubsub.map_node_event(url, "feed")  # each item comes as an event of its own
            return subscription_of((await pubsub.subscribe(component, url))["pubsub"]["subscription"])
        if verb == "unsubscribe":
            return (await pubsub.unsubscribe(component, url))["type"]
        if verb == "retrieve":
            return items_of((await pubsub.get_items(component, url, max_items=10))["pubsub"])
        if verb == "retrieve a":
            return items_of((await pubsub.get_item(component, url, "a"))["pubsub"])
        if verb == "list":
            answer = await pubsub.get_subscriptions(component)
            return [subscription_of(one) for one in answer["pubsub"]["subscriptions"]]
        info = (await self["xep_0030"].get_info(jid=component))["disco_info"]
        return {"identities": [list(identity) for identity in info["identities"]], "features": sorted(info["features"])}

    def published(self, message):
        write({"event": "notification", "value": items_of(message["pubsub_event"])})


client = Client()
client.connect(address=("127.0.0.1", int(port)), disable_starttls=True)
client.process(forever=False)
