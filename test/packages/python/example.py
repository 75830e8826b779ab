"""A receiver on a free port, started by Receivers.test.ts. Prints a line for each notification."""

import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])

from windhover_receiver import Receiver, SqliteStore, serve  # noqa: E402


def handle(notification):
    items = [item["id"] for item in reversed(notification.feed["items"])]
    print(notification.sequence, *items, flush=True)


serve(
    Receiver(secret=sys.argv[2], on_notification=handle, topics=[sys.argv[3]], store=SqliteStore(":memory:")),
    port=0,
)
