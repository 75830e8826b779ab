"""Receives notifications of Windhover and of other WebSub hubs: verified, once each, in order, without gaps.

One file for Python 3.9 and newer, with the standard library alone. Copy the file into your project::

    from windhover_receiver import Receiver, SqliteStore, serve

    def handle(notification):
        print(notification.id, notification.topic)

    receiver = Receiver(secret="a-secret", on_notification=handle, store=SqliteStore("received.sqlite"))
    serve(receiver, port=3000)       # or: application = receiver.wsgi
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import hmac
import json
import re
import sqlite3
import sys
import threading
import time
import traceback
import urllib.error
import urllib.parse
import urllib.request
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, Iterable, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

__version__ = "1.0.0"
__all__ = [
    "Gap", "MemoryStore", "Notification", "Receiver", "ReceiverError", "SqliteStore", "make_handler",
    "retrieve_missing", "serve", "verify",
]

DEFAULT_MAX_BODY_BYTES = 16 * 1024 * 1024
DEFAULT_TOLERANCE_SECONDS = 300
MAX_SECRETS = 16
MAX_SIGNATURES = 16
MAX_LISTED = 10_000
MAX_RECENT = 256
MAX_CHALLENGE_LENGTH = 1_024
MAX_PAGE_SIZE = 20
MAX_PAGE_BYTES = 256 * 1024 * 1024
REQUEST_TIMEOUT_SECONDS = 30

Secret = Union[str, Sequence[str]]


class ReceiverError(Exception):
    """A refused request. The message is the sentence of the response, and tells the next step."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.message = message


@dataclass(frozen=True)
class Notification:
    """A notification. `feed` is the parsed JSON of a feed, `text` the text of JSON and Atom; None for other documents.

    `test` is true for a test of Windhover, which has no sequence.
    """

    id: Optional[str]
    sequence: Optional[int]
    subscription: Optional[str]
    topic: str
    content_type: str
    body: bytes = field(repr=False)
    headers: Mapping[str, str] = field(repr=False, default_factory=dict)
    test: bool = False

    @property
    def text(self) -> Optional[str]:
        is_text = _JSON_TYPE.match(self.content_type) or _ATOM_TYPE.match(self.content_type)
        return self.body.decode("utf-8", "replace") if is_text else None

    @property
    def feed(self) -> Optional[Dict[str, Any]]:
        if not _JSON_TYPE.match(self.content_type):
            return None
        try:
            value = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        is_feed = isinstance(value, dict) and isinstance(value.get("status"), dict) and "feed" in value["status"]
        return value if is_feed else None


@dataclass(frozen=True)
class Gap:
    """Missing notifications. `missing` lists at most the first 10,000 sequences from `first` to `last`."""

    subscription: Optional[str]
    topic: str
    first: int
    last: int

    @property
    def missing(self) -> List[int]:
        return list(range(self.first, min(self.last + 1, self.first + MAX_LISTED)))


_JSON_TYPE = re.compile(r"application/(?:[\w.-]+\+)?json\s*(?:;|$)", re.I)
_ATOM_TYPE = re.compile(r"application/atom\+xml\s*(?:;|$)", re.I)
_HUB_SIGNATURE = re.compile(r"(sha1|sha256|sha384|sha512)=((?:[0-9a-f]{2}){1,64})", re.I)
_WINDHOVER_ID = re.compile(r"[0-9]+-([0-9]+)(?:-[0-9]+)?")
_SELF_LINK = re.compile(r"<([^<>]*)>\s*;\s*rel=\"?self\"?", re.I)


def verify(
    headers: Mapping[str, str],
    body: bytes,
    secret: Secret,
    *,
    scheme: str = "any",
    tolerance_seconds: float = DEFAULT_TOLERANCE_SECONDS,
) -> Notification:
    """Verifies the signature of a request over its raw body, and reads the notification. Raises ReceiverError.

    A request with `webhook-signature` has to pass by this signature, because it covers the id and the time.
    `scheme="standard"` refuses requests without it.
    """
    names = {name.lower(): value for name, value in headers.items()}
    secrets = _check_secrets(secret)
    signed_id = None
    if "webhook-signature" in names:
        signed_id = _verify_standard(names, body, secrets, tolerance_seconds)
    else:
        _verify_hub(names, body, secrets, scheme)
    return _read_notification(names, body, signed_id)


def _check_secrets(secret: Secret) -> Sequence[str]:
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not 1 <= len(secrets) <= MAX_SECRETS or not all(secrets):
        raise ValueError("secret is empty. Set it to the hub.secret of the subscription.")
    for one in secrets:
        _standard_key(one)
    return secrets


def _standard_key(secret: str) -> bytes:
    """Key of Standard Webhooks: the Base64 after whsec_, and any other secret as it is."""
    if not secret.startswith("whsec_"):
        return secret.encode()
    try:
        key = base64.b64decode(secret[6:], validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not key:
        raise ValueError("secret begins with whsec_, but no Base64 follows. Copy the whole secret.")
    return key


def _verify_standard(names: Mapping[str, str], body: bytes, secrets: Sequence[str], tolerance: float) -> str:
    notification_id, timestamp = names.get("webhook-id", ""), names.get("webhook-timestamp", "")
    if not notification_id or not re.fullmatch(r"[0-9]{1,12}", timestamp):
        raise ReceiverError(
            400, "webhook-signature needs webhook-id, and webhook-timestamp in seconds since 1970, beside it."
        )
    if abs(time.time() - int(timestamp)) > tolerance:
        raise ReceiverError(
            401,
            f"webhook-timestamp differs by more than {tolerance} s from this receiver's clock. Check both clocks.",
        )
    given = [part[3:].encode() for part in names["webhook-signature"].split(" ") if part.startswith("v1,")]
    if not 1 <= len(given) <= MAX_SIGNATURES:
        raise ReceiverError(401, f"webhook-signature has 1 to {MAX_SIGNATURES} signatures of the form v1,BASE64.")
    content = f"{notification_id}.{timestamp}.".encode("latin-1", "replace") + body
    for secret in secrets:
        expected = base64.b64encode(hmac.new(_standard_key(secret), content, hashlib.sha256).digest())
        if any([hmac.compare_digest(expected, one) for one in given]):
            return notification_id
    raise _wrong_signature()


def _verify_hub(names: Mapping[str, str], body: bytes, secrets: Sequence[str], scheme: str) -> None:
    header = names.get("x-hub-signature-256") or names.get("x-hub-signature")
    if scheme == "standard":
        raise ReceiverError(401, "The header webhook-signature is missing. Subscribe with hub.secret.")
    if header is None:
        raise ReceiverError(
            401,
            "The request has no signature: neither webhook-signature nor X-Hub-Signature. Subscribe with hub.secret.",
        )
    match = _HUB_SIGNATURE.fullmatch(header)
    if match is None:
        raise ReceiverError(
            401, "X-Hub-Signature has the form METHOD=HEX with the method sha1, sha256, sha384 or sha512."
        )
    given = bytes.fromhex(match[2])
    for secret in secrets:
        expected = hmac.new(secret.encode(), body, getattr(hashlib, match[1].lower())).digest()
        if hmac.compare_digest(expected, given):
            return
    raise _wrong_signature()


def _wrong_signature() -> ReceiverError:
    return ReceiverError(
        401,
        "The signature does not fit the body. Compare the receiver's secret with the hub.secret of the subscription.",
    )


def _read_notification(names: Mapping[str, str], body: bytes, signed_id: Optional[str]) -> Notification:
    notification_id = signed_id or names.get("x-windhover-notification-id") or None
    if notification_id is not None and len(notification_id) > 256:
        raise ReceiverError(400, "A notification id has 1 to 256 characters.")
    # the id counts too, because it can be signed: an added header makes no test of a repeated notification
    is_test = names.get("x-windhover-test") == "true" and (notification_id or "").startswith("test-")
    number = None if is_test else names.get("x-windhover-sequence")
    if number is not None and not re.fullmatch(r"[1-9][0-9]{0,14}", number):
        raise ReceiverError(400, "X-Windhover-Sequence is a positive integer of at most 15 digits.")
    match = _WINDHOVER_ID.fullmatch(notification_id or "")
    link = _SELF_LINK.search(names.get("link", "")[:8192])
    return Notification(
        id=notification_id,
        sequence=None if number is None else int(number),
        subscription=match[1] if match else None,
        topic=names.get("x-pubsubhubbub-topic") or (link[1] if link else ""),
        content_type=names.get("content-type") or "application/octet-stream",
        body=body,
        headers=names,
        test=is_test,
    )


@dataclass(frozen=True)
class State:
    """State of one subscription: the last sequence, the id of sequence 1, and the last 256 ids with their sequences."""

    last: int = 0
    first: Optional[str] = None
    recent: Tuple[Tuple[str, Optional[int]], ...] = ()

    def to_json(self) -> str:
        return json.dumps({"last": self.last, "first": self.first, "recent": self.recent})

    @staticmethod
    def from_json(text: str) -> "State":
        value = json.loads(text)
        return State(value["last"], value["first"], tuple((one, sequence) for one, sequence in value["recent"]))

    def add(self, notification_id: str, sequence: Optional[int]) -> "State":
        recent = (self.recent + ((notification_id, sequence),))[-MAX_RECENT:]
        first = self.first or (notification_id if sequence == 1 else None)
        return State(max(self.last, sequence or 0), first, recent)

    def knows(self, notification_id: str) -> bool:
        return self.first == notification_id or any(one == notification_id for one, _ in self.recent)

    def is_taken(self, sequence: int) -> bool:
        """True if another id has the sequence: the subscription counts from 1 again."""
        return sequence == 1 and self.first is not None or any(one == sequence for _, one in self.recent)


class MemoryStore:
    """Keeps the state of the latest subscriptions in memory. A restart forgets it."""

    def __init__(self, max_subscriptions: int = 10_000) -> None:
        self._states: Dict[str, State] = {}
        self._max_subscriptions = max_subscriptions

    def load(self, key: str) -> Optional[State]:
        return self._states.get(key)

    def save(self, key: str, state: State) -> None:
        self._states.pop(key, None)
        self._states[key] = state
        if len(self._states) > self._max_subscriptions:
            del self._states[next(iter(self._states))]


class SqliteStore:
    """Keeps the state of the latest subscriptions in a file of SQLite. For one process."""

    def __init__(self, path: str, max_subscriptions: int = 10_000) -> None:
        self._lock = threading.Lock()
        self._max_subscriptions = max_subscriptions
        self._database = sqlite3.connect(path, check_same_thread=False)
        with self._lock, self._database:
            self._database.execute(
                "create table if not exists windhover_receiver "
                "(key text primary key, state text not null, saved_at real not null)"
            )

    def load(self, key: str) -> Optional[State]:
        with self._lock:
            row = self._database.execute("select state from windhover_receiver where key = ?", (key,)).fetchone()
        return None if row is None else State.from_json(row[0])

    def save(self, key: str, state: State) -> None:
        with self._lock, self._database:
            self._database.execute(
                "insert or replace into windhover_receiver values (?, ?, ?)", (key, state.to_json(), time.time())
            )
            self._database.execute(
                "delete from windhover_receiver where key in "
                "(select key from windhover_receiver order by saved_at desc limit -1 offset ?)",
                (self._max_subscriptions,),
            )

    def close(self) -> None:
        self._database.close()


class _Turns:
    """One lock for each key that is in use."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._locks: Dict[str, Tuple[threading.Lock, List[None]]] = {}

    @contextlib.contextmanager
    def turn(self, key: str) -> Iterator[None]:
        with self._guard:
            lock, users = self._locks.setdefault(key, (threading.Lock(), []))
            users.append(None)
        try:
            with lock:
                yield
        finally:
            with self._guard:
                users.pop()
                if not users:
                    del self._locks[key]


class Receiver:
    """Answers verifications of intent, and passes each notification to `on_notification` once, in order.

    `on_notification` raises an exception to get the notification again. `topics` is a list, or a function of the topic
    and the query. `on_gap` gets a `Gap` before the notification behind it, and may return the missing notifications.
    `on_test` gets the tests of Windhover; without it, `on_notification` gets them, with `test`.
    """

    def __init__(
        self,
        *,
        secret: Union[Secret, Callable[[Mapping[str, str]], Secret]],
        on_notification: Callable[[Notification], Any],
        on_gap: Optional[Callable[[Gap], Optional[Iterable[Notification]]]] = None,
        on_test: Optional[Callable[[Notification], Any]] = None,
        topics: Union[Sequence[str], Callable[[str, Mapping[str, str]], bool]] = (),
        on_denied: Optional[Callable[[str, str], Any]] = None,
        store: Any = None,
        scheme: str = "any",
        tolerance_seconds: float = DEFAULT_TOLERANCE_SECONDS,
        max_body_bytes: int = DEFAULT_MAX_BODY_BYTES,
        expects_first: bool = False,
    ) -> None:
        if not callable(secret):
            _check_secrets(secret)
        self._secret = secret
        self._on_notification = on_notification
        self._on_gap = on_gap or _warn_of_gap
        self._on_test = on_test or on_notification
        self._topics = topics
        self._on_denied = on_denied
        self._store = MemoryStore() if store is None else store
        self._scheme = scheme
        self._tolerance_seconds = tolerance_seconds
        self.max_body_bytes = max_body_bytes
        self._expects_first = expects_first
        self._turns = _Turns()

    def respond(
        self, method: str, query: str, headers: Mapping[str, str], read_body: Callable[[int], bytes]
    ) -> Tuple[int, str]:
        """Status and text of the response. `read_body` gets the length of the body."""
        try:
            if method == "GET":
                return 200, self._answer_intent(query)
            if method != "POST":
                raise ReceiverError(405, "This callback takes GET for verifications and POST for notifications.")
            names = {name.lower(): value for name, value in headers.items()}
            body = self._read_body(names, read_body)
            secret = self._secret(names) if callable(self._secret) else self._secret
            notification = verify(
                names, body, secret, scheme=self._scheme, tolerance_seconds=self._tolerance_seconds
            )
        except ReceiverError as error:
            return error.status, error.message
        except Exception:
            traceback.print_exc()
            return 500, "The request could not be handled. Send it again."
        try:
            self.handle(notification)
        except Exception:
            traceback.print_exc()
            return 500, "The notification could not be handled. Send it again."
        return (200, "The test was received.") if notification.test else (204, "")

    def _read_body(self, names: Mapping[str, str], read_body: Callable[[int], bytes]) -> bytes:
        if not any(name in names for name in ("webhook-signature", "x-hub-signature", "x-hub-signature-256")):
            _verify_hub(names, b"", [], self._scheme)
        length = names.get("content-length", "")
        if not re.fullmatch(r"[0-9]{1,15}", length):
            raise ReceiverError(400, "The request has no Content-Length.")
        if int(length) > self.max_body_bytes:
            raise ReceiverError(413, f"The body is larger than {self.max_body_bytes} bytes.")
        body = read_body(int(length))
        if len(body) != int(length):
            raise ReceiverError(400, "The connection was lost before the end of the body.")
        return body

    def _answer_intent(self, query: str) -> str:
        try:
            values = dict(urllib.parse.parse_qsl(query, keep_blank_values=True, max_num_fields=100))
        except ValueError:
            raise ReceiverError(400, "The query has more than 100 parameters.") from None
        mode, topic = values.get("hub.mode"), values.get("hub.topic", "")
        if mode == "denied":
            if self._on_denied is not None:
                self._on_denied(topic, values.get("hub.reason", ""))
            return ""
        challenge = values.get("hub.challenge", "")
        if mode not in ("subscribe", "unsubscribe") or not topic or not challenge:
            raise ReceiverError(
                400, "This callback takes notifications by POST. A GET needs hub.mode, hub.topic and hub.challenge."
            )
        if len(challenge) > MAX_CHALLENGE_LENGTH:
            raise ReceiverError(400, f"hub.challenge has more than {MAX_CHALLENGE_LENGTH} characters.")
        is_allowed = self._topics(topic, values) if callable(self._topics) else topic in self._topics
        if not is_allowed:
            raise ReceiverError(404, "This receiver does not agree to that topic.")
        return challenge

    def handle(self, notification: Notification) -> None:
        """Handles a notification that was verified or retrieved elsewhere: once, in order, after those of its gap."""
        if notification.test:
            self._on_test(notification)
            return
        if notification.id is None:
            self._on_notification(notification)
            return
        key = f"{notification.subscription or ''} {notification.topic[:2500]}"
        with self._turns.turn(key):
            self._take(key, notification.id, notification)

    def _take(self, key: str, notification_id: str, notification: Notification) -> None:
        state = self._store.load(key) or State()
        sequence = notification.sequence
        if state.knows(notification_id):
            return
        if sequence is not None:
            last = state.last or (0 if self._expects_first else sequence - 1)
            if sequence > last + 1:
                gap = Gap(notification.subscription, notification.topic, last + 1, sequence - 1)
                state = self._fill_gap(key, state, gap)
            elif state.is_taken(sequence):
                state = State()
        self._on_notification(notification)
        self._store.save(key, state.add(notification_id, sequence))

    def _fill_gap(self, key: str, state: State, gap: Gap) -> State:
        for found in self._on_gap(gap) or ():
            if found.id is None or found.sequence is None or not max(state.last + 1, gap.first) <= found.sequence <= gap.last:
                continue
            self._on_notification(found)
            state = state.add(found.id, found.sequence)
            self._store.save(key, state)
        state = State(gap.last, state.first, state.recent)
        self._store.save(key, state)
        return state

    def wsgi(self, environ: Dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        """The receiver as a WSGI application."""
        headers = {name[5:].replace("_", "-"): value for name, value in environ.items() if name.startswith("HTTP_")}
        for name in ("CONTENT_TYPE", "CONTENT_LENGTH"):
            if environ.get(name):
                headers[name.replace("_", "-")] = environ[name]
        status, text = self.respond(
            environ["REQUEST_METHOD"], environ.get("QUERY_STRING", ""), headers, environ["wsgi.input"].read
        )
        body = text.encode()
        reason = BaseHTTPRequestHandler.responses.get(status, ("Status", ""))[0]
        start_response(f"{status} {reason}", _response_headers(status, body))
        return [body]


def _response_headers(status: int, body: bytes) -> List[Tuple[str, str]]:
    """Plain text without sniffing, because a challenge is a stranger's text."""
    if status == 204:
        return []
    return [
        ("Content-Type", "text/plain; charset=utf-8"),
        ("Content-Length", str(len(body))),
        ("X-Content-Type-Options", "nosniff"),
    ] + ([("Allow", "GET, POST")] if status == 405 else [])


def _warn_of_gap(gap: Gap) -> None:
    print(
        f"Windhover's notifications {gap.first} to {gap.last} of {gap.topic} are missing. on_gap can retrieve them.",
        file=sys.stderr,
    )


def make_handler(receiver: Receiver) -> type:
    """The receiver as a handler of http.server."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = REQUEST_TIMEOUT_SECONDS

        def _handle(self) -> None:
            is_read = False

            def read(length: int) -> bytes:
                nonlocal is_read
                is_read = True
                return self.rfile.read(length)

            query = self.path.partition("?")[2]
            status, text = receiver.respond(self.command, query, dict(self.headers.items()), read)
            body = text.encode()
            self.send_response(status)
            for name, value in _response_headers(status, body):
                self.send_header(name, value)
            if not is_read and self.command != "GET":
                self._skip_body()
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(body)

        def _skip_body(self) -> None:
            """Reads a refused body of some length, so that the client reads the response, and closes the connection."""
            length = self.headers.get("Content-Length", "")
            left = min(int(length), 4 * DEFAULT_MAX_BODY_BYTES) if re.fullmatch(r"[0-9]{1,15}", length) else 0
            while left > 0:
                chunk = self.rfile.read(min(left, 65_536))
                if not chunk:
                    break
                left -= len(chunk)
            self.close_connection = True
            self.send_header("Connection", "close")

        do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = do_PATCH = _handle

        def log_message(self, format: str, *args: Any) -> None:
            """Keeps the console quiet."""

    return Handler


def serve(receiver: Receiver, host: str = "127.0.0.1", port: int = 3000) -> None:
    """Serves the receiver until the process ends."""
    server = ThreadingHTTPServer((host, port), make_handler(receiver))
    print(f"ready on http://{host}:{server.server_address[1]}", flush=True)
    server.serve_forever()


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the credentials to another place."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        return None


def retrieve_missing(url: str, login: str, token: str) -> Callable[[Gap], Iterator[Notification]]:
    """Makes an `on_gap` that retrieves the missing notifications from Windhover, as long as they are kept."""
    base = url.rstrip("/")
    if not re.match(r"https?://", base, re.I) or not login or not token:
        raise ValueError("retrieve_missing needs the http(s) URL of Windhover, a login and a token.")
    authorization = "Basic " + base64.b64encode(f"{login}:{token}".encode()).decode()
    opener = urllib.request.build_opener(_NoRedirect)

    def read_page(subscription: str, begin: str, limit: int) -> Dict[str, Any]:
        page = f"{base}/api/notifications?subscription={subscription}&{begin}&limit={limit}"
        request = urllib.request.Request(page, headers={"Authorization": authorization, "Accept": "application/json"})
        try:
            with opener.open(request, timeout=REQUEST_TIMEOUT_SECONDS) as response:
                body = response.read(MAX_PAGE_BYTES + 1)
        except urllib.error.HTTPError as error:
            text = error.read(500).decode("utf-8", "replace")
            raise RuntimeError(f"Windhover answered {error.code} to {page}: {text}") from error
        if len(body) > MAX_PAGE_BYTES:
            raise RuntimeError(f"The answer to {page} is larger than {MAX_PAGE_BYTES} bytes.")
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            value = None
        if not _is_page(value):
            raise RuntimeError(f"The answer to {page} is not one of Windhover's. Does url name another service?")
        return value

    def retrieve(gap: Gap) -> Iterator[Notification]:
        after = gap.first - 1
        cursor = None
        for _ in range(after, gap.last):  # each page passes one number at least
            if gap.subscription is None or after >= gap.last:
                return
            begin = f"after={after}" if cursor is None else f"cursor={urllib.parse.quote(cursor, safe='')}"
            page = read_page(gap.subscription, begin, min(gap.last - after, MAX_PAGE_SIZE))
            if page["last"] < gap.last:
                raise RuntimeError(
                    f"The last notification of subscription {gap.subscription} is {page['last']}, "
                    f"yet {gap.last} is missing. "
                    "Does url name another Windhover?"
                )
            for one in page["notifications"]:
                if one["sequence"] > gap.last:
                    return
                after = max(after, one["sequence"])
                body = one["body"].encode() if "body" in one else base64.b64decode(one.get("base64", ""))
                yield Notification(
                    one["id"], one["sequence"], gap.subscription, gap.topic, one["contentType"], body
                )
            if "next" not in page:
                return
            cursor = page["next"] if not page["notifications"] else None

    return retrieve


def _is_page(value: Any) -> bool:
    if not isinstance(value, dict) or not isinstance(value.get("last"), int):
        return False
    if not isinstance(value.get("next", ""), str):
        return False
    rows = value.get("notifications")
    return isinstance(rows, list) and all(
        isinstance(one, dict)
        and isinstance(one.get("sequence"), int)
        and isinstance(one.get("id"), str)
        and isinstance(one.get("contentType"), str)
        for one in rows
    )
