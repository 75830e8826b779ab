"""A receiver on a free port, started by the tests. Prints a line for each notification, and one for each gap.

Arguments: folder of the module, secret, topic; then URL and token of the service that has missing notifications.
"""

import sys

sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])

from windhover_receiver import Receiver, SqliteStore, retrieve_missing, serve  # noqa: E402

retrieve = retrieve_missing(sys.argv[4], "admin", sys.argv[5]) if len(sys.argv) > 4 else None


def handle(notification):
    items = [item["id"] for item in reversed(notification.feed["items"])]
    print("test" if notification.test else notification.sequence, *items, flush=True)


def fill(gap):
    print("gap", *gap.missing, flush=True)
    return retrieve(gap)


serve(
    Receiver(
        secret=sys.argv[2],
        on_notification=handle,
        on_gap=retrieve and fill,
        topics=[sys.argv[3]],
        store=SqliteStore(":memory:"),
    ),
    port=0,
)
