"""Tests of packages/python/windhover_receiver.py, started by Receiver.test.ts."""

import base64
import contextlib
import hashlib
import hmac
import io
import json
import os
import random
import sys
import tempfile
import threading
import time
import unittest
import urllib.error
import urllib.parse
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from wsgiref.util import setup_testing_defaults
from wsgiref.validate import validator

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(__file__), "../../../packages/python"))

from windhover_receiver import (  # noqa: E402
    Gap, MemoryStore, Notification, Receiver, ReceiverError, SqliteStore, make_handler, retrieve_missing, verify,
)

SECRET = "a-secret"
TOPIC = "http://feeds.test/a"
KEY = b"a key of 24 random bytes"
ENCODED = "whsec_" + base64.b64encode(KEY).decode()


def fields(sequence, notification_id=None):
    headers = {
        "Content-Type": "application/json; charset=utf-8",
        "X-PubSubHubbub-Topic": TOPIC,
        "X-Windhover-Notification-Id": notification_id or f"{100 + (sequence or 0)}-7",
    }
    return headers if sequence is None else {**headers, "X-Windhover-Sequence": str(sequence)}


def signed(sequence, body=b"{}", secret=SECRET, method="sha256", notification_id=None):
    digest = hmac.new(secret.encode(), body, getattr(hashlib, method)).hexdigest()
    name = "X-Hub-Signature-256" if method == "sha256" else "X-Hub-Signature"
    return {**fields(sequence, notification_id), name: f"{method}={digest}"}, body


def standard(sequence, body=b"{}", key=SECRET.encode(), at=None, notification_id=None):
    at = int(time.time()) if at is None else at
    headers = fields(sequence, notification_id)
    notification_id = headers["X-Windhover-Notification-Id"]
    digest = hmac.new(key, f"{notification_id}.{at}.".encode() + body, hashlib.sha256).digest()
    return {
        **headers,
        "webhook-id": notification_id,
        "webhook-timestamp": str(at),
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }, body


def status_of(headers, body, secret=SECRET, **options):
    try:
        verify(headers, body, secret, **options)
        return 200
    except ReceiverError as error:
        return error.status


def retrieved(sequence):
    return Notification(f"{100 + sequence}-7", sequence, "7", TOPIC, "text/plain", b"")


class Recorded:
    def __init__(self, **options):
        self.handled, self.gaps = [], []
        self.fails = False
        options.setdefault("on_gap", self.gaps.append)
        self.receiver = Receiver(secret=SECRET, on_notification=self.handle, **options)

    def handle(self, notification):
        if self.fails:
            raise RuntimeError("no database")
        self.handled.append(notification.sequence)

    def send(self, *sequences, **options):
        return [self.post(*signed(sequence, **options)) for sequence in sequences]

    def post(self, headers, body):
        headers = {**headers, "Content-Length": str(len(body))}
        return self.receiver.respond("POST", "", headers, lambda length: body[:length])[0]


class Verification(unittest.TestCase):
    def test_both_schemes(self):
        for method in ("sha1", "sha256", "sha384", "sha512"):
            self.assertEqual(status_of(*signed(1, method=method)), 200)
        self.assertEqual(status_of(*standard(1)), 200)
        self.assertEqual(status_of(*standard(1, key=KEY), secret=ENCODED), 200)
        self.assertEqual(status_of(*signed(1, secret=ENCODED), secret=ENCODED), 200)
        self.assertEqual(status_of(*standard(1, key=KEY), secret=["new", ENCODED]), 200)

    def test_refusals(self):
        headers, body = standard(1)
        self.assertEqual(status_of(headers, body + b" "), 401)
        self.assertEqual(status_of({**headers, "webhook-id": "x"}, body), 401)
        self.assertEqual(status_of({**headers, "webhook-signature": "v1,AAAA"}, body), 401)
        self.assertEqual(status_of({**headers, "webhook-signature": "v2,AAAA"}, body), 401)
        self.assertEqual(status_of({**headers, "webhook-signature": "v1,\xff"}, body), 401)
        self.assertEqual(status_of({**headers, "webhook-timestamp": ""}, body), 400)
        self.assertEqual(status_of(*signed(1, secret="other")), 401)
        self.assertEqual(status_of({**signed(1)[0], "X-Hub-Signature-256": "md5=00"}, b"{}"), 401)
        self.assertEqual(status_of(fields(1), b""), 401)
        self.assertEqual(status_of(*signed(1), scheme="standard"), 401)
        self.assertEqual(status_of({**signed(1)[0], "X-Windhover-Sequence": "0"}, b"{}"), 400)
        several = f"v1,AAAA {headers['webhook-signature']}"
        self.assertEqual(status_of({**headers, "webhook-signature": several}, body), 200)

    def test_tolerance(self):
        now = int(time.time())
        self.assertEqual([status_of(*standard(1, at=now + s)) for s in (-298, 298, -302, 302)], [200, 200, 401, 401])

    def test_secrets(self):
        for secret in ("", [], ["a", ""], "whsec_", "whsec_!"):
            with self.assertRaises(ValueError):
                Receiver(secret=secret, on_notification=print)

    def test_content(self):
        feed = json.dumps({"status": {"feed": TOPIC}, "title": "A", "id": TOPIC, "items": [{"id": "e"}]}).encode()
        notification = verify(*signed(5, feed), SECRET)
        self.assertEqual(notification.feed["items"], [{"id": "e"}])
        self.assertEqual((notification.sequence, notification.subscription, notification.topic), (5, "7", TOPIC))
        headers, body = signed(5, "<feed>é</feed>".encode())
        atom = verify({**headers, "Content-Type": "application/atom+xml"}, body, SECRET)
        self.assertEqual((atom.feed, atom.text), (None, "<feed>é</feed>"))
        self.assertIsNone(verify(*signed(5, b"{"), SECRET).feed)


class Order(unittest.TestCase):
    def test_repetitions_and_failures(self):
        one = Recorded()
        one.fails = True
        self.assertEqual(one.send(1), [500])
        one.fails = False
        self.assertEqual(one.send(1, 1, 2, 1), [204] * 4)
        self.assertEqual(one.handled, [1, 2])

    def test_gaps(self):
        one = Recorded()
        one.send(3, 7, 5, 5, 8)
        self.assertEqual(one.handled, [3, 7, 5, 8])
        self.assertEqual([gap.missing for gap in one.gaps], [[4, 5, 6]])
        two = Recorded(on_gap=lambda gap: map(retrieved, gap.missing), expects_first=True)
        two.send(3, 2, 6)
        self.assertEqual(two.handled, [1, 2, 3, 4, 5, 6])
        self.assertEqual(len(Gap(None, TOPIC, 1, 10**12).missing), 10_000)

    def test_failed_gap(self):
        def fail(gap):
            yield retrieved(2)
            raise RuntimeError("no network")
        one = Recorded(on_gap=fail)
        self.assertEqual(one.send(1, 4), [204, 500])
        self.assertEqual(one.handled, [1, 2])

    def test_new_numbers(self):
        one = Recorded()
        one.send(1, 2, 3)
        one.send(1, 2, notification_id="1-7")
        self.assertEqual(one.handled, [1, 2, 3, 1])
        one.send(2, notification_id="2-7")
        self.assertEqual(one.handled, [1, 2, 3, 1, 2])

    def test_old_repetitions(self):
        one = Recorded()
        one.send(*range(1, 301))
        one.send(1, 45, 301)
        self.assertEqual(one.handled[300:], [301])

    def test_lost_doubled_reordered(self):
        for seed in range(5):
            chance = random.Random(seed)
            arriving = []
            for sequence in range(1, 1001):
                draw = 1 if sequence == 1000 else chance.random()
                for _ in range(0 if draw < 0.05 else 2 if draw < 0.1 else 1):
                    arriving.append((sequence + chance.random() * 8, sequence))
            arriving = [sequence for _, sequence in sorted(arriving)]
            self.assertLess(len(set(arriving)), 970)
            one = Recorded(on_gap=lambda gap: map(retrieved, gap.missing), expects_first=True)
            one.send(*arriving)
            self.assertEqual(one.handled, list(range(1, 1001)))

    def test_threads(self):
        one = Recorded()
        threads = [threading.Thread(target=one.send, args=(1,)) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(one.handled, [1])


class Stores(unittest.TestCase):
    def test_sqlite_survives_a_restart(self):
        with tempfile.TemporaryDirectory() as directory:
            path = os.path.join(directory, "received.sqlite")
            for sequences in ((1, 2), (2, 4)):
                store = SqliteStore(path)
                one = Recorded(store=store)
                one.send(*sequences)
                store.close()
            self.assertEqual((one.handled, [gap.missing for gap in one.gaps]), ([4], [[3]]))

    def test_bounds(self):
        for store in (MemoryStore(2), SqliteStore(":memory:", 2)):
            one = Recorded(store=store)
            for subscription in (1, 2, 1, 3):
                one.send(len(one.handled) + 1, notification_id=f"{len(one.handled) + 1}-{subscription}")
            kept = [store.load(f"{subscription} {TOPIC}") is not None for subscription in (1, 2, 3)]
            self.assertEqual(kept, [True, False, True])


class Servers(unittest.TestCase):
    def intent(self, **values):
        return urllib.parse.urlencode({f"hub.{name}": value for name, value in values.items()})

    def ask(self, receiver, query):
        return receiver.respond("GET", query, {}, lambda _: b"")

    def test_intent(self):
        denied = []
        receiver = Receiver(secret=SECRET, on_notification=print, topics=[TOPIC], on_denied=lambda *one: denied.append(one))
        question = {"mode": "subscribe", "topic": TOPIC, "challenge": "42"}
        self.assertEqual(self.ask(receiver, self.intent(**question)), (200, "42"))
        self.assertEqual(self.ask(receiver, self.intent(**{**question, "topic": "x"}))[0], 404)
        self.assertEqual(self.ask(receiver, self.intent(**{**question, "challenge": "x" * 1025}))[0], 400)
        self.assertEqual(self.ask(receiver, "")[0], 400)
        self.assertEqual(self.ask(receiver, "&".join(["a=b"] * 200))[0], 400)
        self.assertEqual(self.ask(receiver, self.intent(mode="denied", topic=TOPIC, reason="no")), (200, ""))
        self.assertEqual(denied, [(TOPIC, "no")])

    def test_tests(self):
        tests = []
        header = {"X-Windhover-Test": "true"}

        def test(one, make=standard, **options):
            headers, body = make(0, notification_id="test-1", **options)
            return one.post({**headers, **header}, body)

        one = Recorded()
        self.assertEqual([test(one), *one.send(5), test(one), *one.send(6, 5)], [200, 204, 200, 204, 204])
        self.assertEqual((one.handled, one.gaps), ([None, 5, None, 6], []))
        own = Recorded(on_test=lambda notification: tests.append((notification.id, notification.test)))
        self.assertEqual([test(own), test(own, make=signed), test(own, key=b"other")], [200, 200, 401])
        self.assertEqual((own.handled, tests), ([], [("test-1", True)] * 2))
        one.fails = True
        with contextlib.redirect_stderr(io.StringIO()):
            self.assertEqual(test(one), 500)
        # a repeated notification stays one with the header that nothing signs
        headers, body = standard(5)
        repeated = verify({**headers, **header}, body, SECRET)
        self.assertEqual((repeated.test, repeated.sequence), (False, 5))
        self.assertEqual(status_of(*standard(0, notification_id="test-1")), 400)

    def test_wsgi(self):
        one = Recorded(topics=lambda topic, query: query["hub.mode"] == "unsubscribe", max_body_bytes=100)
        application = validator(one.receiver.wsgi)

        def call(method, query="", headers=(), body=b""):
            environ = {"REQUEST_METHOD": method, "QUERY_STRING": query, "wsgi.input": io.BytesIO(body)}
            setup_testing_defaults(environ)
            for name, value in dict(headers).items():
                key = name.upper().replace("-", "_")
                environ[key if key == "CONTENT_TYPE" else f"HTTP_{key}"] = value
            environ["CONTENT_LENGTH"] = str(len(body))
            told = []
            answer = application(environ, lambda status, headers, _=None: told.append(status))
            text = b"".join(answer)
            answer.close()
            return told[0].split(" ")[0], text.decode()

        self.assertEqual(call("POST", headers=signed(1)[0], body=b"{}"), ("204", ""))
        self.assertEqual(call("POST", headers=signed(2)[0], body=b"x" * 101)[0], "413")
        self.assertEqual(call("GET", self.intent(mode="unsubscribe", topic=TOPIC, challenge="7")), ("200", "7"))
        self.assertEqual(call("PUT")[0], "405")
        self.assertEqual(one.handled, [1])

    def test_http_server(self):
        one = Recorded(max_body_bytes=1_000)
        server = ThreadingHTTPServer(("127.0.0.1", 0), make_handler(one.receiver))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_address[1]}/"

        def post(headers, body):
            try:
                return urllib.request.urlopen(urllib.request.Request(url, body, headers)).status
            except urllib.error.HTTPError as error:
                return error.code

        statuses = [post(*standard(1)), post(*standard(1)), post({}, b"x" * 200_000), post(*signed(2, b"x" * 200_000))]
        self.assertEqual(statuses, [204, 204, 401, 413])
        self.assertEqual(one.handled, [1])
        server.shutdown()
        server.server_close()

    def test_retrieval(self):
        asked = []

        class Service(BaseHTTPRequestHandler):
            def do_GET(self):
                asked.append((self.path, self.headers["Authorization"]))
                query = urllib.parse.parse_qs(self.path.partition("?")[2])
                after = int(query["after"][0]) if "after" in query else 14
                if after > 90:
                    self.send_error(404)
                    return
                rows = [
                    {"sequence": after + 1, "id": f"{after + 1}-7", "contentType": "text/plain", "body": "é"},
                    {"sequence": after + 2, "id": f"{after + 2}-7", "contentType": "image/png", "base64": "/+8="},
                ]
                page = {"notifications": [] if after == 12 else rows, "last": 20, "next": "a/b"}
                body = {30: b"<html>", 40: b'{"notifications":[{}],"last":90}'}.get(after, json.dumps(page).encode())
                self.send_response(200)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        retrieve = retrieve_missing(f"http://127.0.0.1:{server.server_address[1]}/", "ann", "t")
        found = [(one.id, one.sequence, one.body) for one in retrieve(Gap("7", TOPIC, 4, 6))]
        self.assertEqual(found, [("4-7", 4, "é".encode()), ("5-7", 5, b"\xff\xef"), ("6-7", 6, "é".encode())])
        self.assertEqual(asked, [
            (f"/api/notifications?subscription=7&after={after}&limit={limit}", "Basic YW5uOnQ=")
            for after, limit in ((3, 3), (5, 1))
        ])
        with self.assertRaisesRegex(RuntimeError, "subscription 7 is 20, yet 21 is missing. Does url"):
            list(retrieve(Gap("7", TOPIC, 4, 21)))
        self.assertTrue(all(path.endswith("&after=3&limit=18") for path, _ in asked[2:]))
        for after in (30, 40):
            with self.assertRaisesRegex(RuntimeError, "not one of Windhover's"):
                list(retrieve(Gap("7", TOPIC, after + 1, after + 1)))
        self.assertEqual(list(retrieve(Gap(None, TOPIC, 1, 2))), [])
        # a page that retention has emptied, and the one behind it
        asked.clear()
        found = [one.sequence for one in retrieve(Gap("7", TOPIC, 13, 15))]
        self.assertEqual(found, [15])
        self.assertEqual([path.partition("7&")[2] for path, _ in asked], ["after=12&limit=3", "cursor=a%2Fb&limit=3"])
        with self.assertRaisesRegex(RuntimeError, "Windhover answered 404"):
            list(retrieve(Gap("7", TOPIC, 92, 93)))
        server.shutdown()
        server.server_close()


if __name__ == "__main__":
    unittest.main()
