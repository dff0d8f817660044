"""Recorders for logins and for other hosts' requests to models, which remove credentials from bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tui_host.capture.record import Head, Record, Shift
from tui_host.capture.recorder_protocol import BodyRedactor, Recording, RedactedStream
from tui_host.capture.redact.body_fields import BLANKS, Learn, read
from tui_host.capture.redact.by_place import without_keys
from tui_host.capture.redact.by_value import Kept
from tui_host.capture.redact.coded import body_without
from tui_host.capture.redact.login_bodies import is_json_of_login, is_json_without_login, is_named, without_tokens
from tui_host.errors import JSON
from tui_host.settings.urls import parts_of

LIMIT = 1 << 20
"""Largest body to hold, in bytes: answers to logins and metadata documents are smaller."""


class BodyBuffer:
    """Holds a body to its end, unless it is larger than `LIMIT`."""

    def __init__(self) -> None:
        self._data = b""
        self._is_passing = False

    def feed(self, data: bytes) -> bytes:
        """Take bytes; returns nothing until the body is too large, then all bytes."""
        self._data += data
        if len(self._data) <= LIMIT and not self._is_passing:
            return b""
        self._is_passing = True
        return self.finish()

    def finish(self) -> bytes:
        """Return the whole body; nothing for a body that was too large."""
        data, self._data = self._data, b""
        return data


_LOGIN_PATH = re.compile(
    rb"(?:^|/)(?:oauth2?(?:/(?:device/)?\w+)?|token|login|register|authorize)/?$"
    rb"|(?<!count)(?<!count_)(?:keys?|secrets|tokens)(?:/(?:re)?generate)?/?$"
    rb"|/(?:realtime|chatkit)/\w*sessions/?$|/service_accounts/?$|/grant/?$",
    re.IGNORECASE,
)


def is_login(target: bytes, kind: bytes, body: bytes) -> bool:
    """Return whether a request gets, renews or creates a credential, by target, content type and body.

    Forms are sent for little else; but curl declares a form where no type was given.
    """
    if _LOGIN_PATH.search(target) is not None or is_json_of_login(body):
        return True
    return kind.strip().lower().startswith(b"application/x-www-form-urlencoded") and not is_json_without_login(body)


def without_credentials(draft: Record, learn: Learn) -> Record:
    """Remove the credentials from the body of another host's request or answer, found by their place.

    Args:
        draft: A request, or a chunk that is a whole body.
        learn: Called with name and value of each credential removed.
    """
    if not draft.data or draft.kind not in {"request", "chunk"}:
        return draft
    if draft.kind == "chunk":
        is_pair = b'"access_token"' in draft.data and b'"token_type"' in draft.data
        is_token = draft.encoding is None and (is_pair or tells_token(draft.data))
        return _without(draft, learn, is_of_login=True, is_to_model=False) if is_token else draft
    is_of_login = draft.head is not None and is_login(_target(draft.head), _content_type(draft.head), draft.data)
    return _without(draft, learn, is_of_login=is_of_login, is_to_model=draft.wire == "llm")


def _without(draft: Record, learn: Learn, *, is_of_login: bool, is_to_model: bool) -> Record:
    def take_out(data: bytes) -> Kept:
        data, keys = without_keys(data, learn) if is_to_model else (data, ())
        data, tokens = without_tokens(data, learn) if is_of_login else (data, ())
        return data, keys + tokens

    return body_without(draft, take_out)


def _target(head: Head) -> bytes:
    return parts_of(head.url or "").path.encode("utf-8", "replace")


def _content_type(head: Head) -> bytes:
    return head.value("content-type").encode("utf-8", "replace")


class WithoutTokens:
    """Records exchanges of other hosts without keys in requests to models and without tokens in answers.

    Args:
        recorder: Stores the records.
        is_login: Whether the exchanges are known to be a login's; otherwise each body is examined.
    """

    is_needed = True
    """Every answer may contain a token."""

    def __init__(self, recorder: Recording, *, is_login: bool) -> None:
        self._recorder = recorder
        self._is_login = is_login
        self.new_exchange = recorder.new_exchange

    @property
    def redactor(self) -> WithoutTokens:
        """The recorder itself."""
        return self

    def stream(self) -> AnswerStream:
        """Return a stream for the body of one answer."""
        return AnswerStream(self._recorder.redactor, is_login=self._is_login)

    def stream_by_value(self) -> RedactedStream:
        """Return a stream for coded bytes."""
        return self._recorder.redactor.stream_by_value()

    def learn_value(self, name: str, value: str, /) -> None:
        """Search from now on for a credential."""
        self._recorder.redactor.learn_value(name, value)

    def append(self, draft: Record, /) -> int:
        """Record a draft, with secrets removed from a request's body; returns the record's number."""
        if draft.kind == "request" and self._is_login:
            draft = _without(draft, self.learn_value, is_of_login=True, is_to_model=draft.wire == "llm")
        elif draft.kind == "request":
            draft = without_credentials(draft, self.learn_value)
        return self._recorder.append(draft)


_TOKENS = re.compile(r"(?:access|refresh|id|session)_?token", re.IGNORECASE)
_OPAQUE = re.compile(r"[\w.~+/=-]{16,}", re.ASCII)
_MAY_TELL = re.compile(rb'(?i)(?:token|jwt|key|secret|passw\w{1,5}|bearer)"[ \t\r\n]{0,99}:[ \t\r\n]{0,99}"')
_PAGE = re.compile(rb"<(?:!doctype|\?xml|html|head|body|form|input|script|meta)\b", re.IGNORECASE)
_BEGINNING = 512
"""Bytes that tell what a body is."""
_DEPTH = 4
_OF_MODELS = ("choices", "candidates", "output", "content")
"""Names of the lists in which models answer."""


def tells_token(data: bytes) -> bool:
    """Return whether a body is a page, or a JSON object with a token in it or in nested objects.

    What models say and which tools they call stands in lists, in every dialect, so lists are not searched. A JSON-RPC message is not
    either: what a tool returns stays as it is. A body larger than `LIMIT` is no answer to a login.
    """
    if len(data) > LIMIT:
        return False
    begin = data[:_BEGINNING].lstrip(BLANKS)
    if begin.startswith(b"<"):
        return _PAGE.match(begin) is not None
    if not begin.startswith(b"{") or _MAY_TELL.search(data) is None:
        return False
    answer = read(data)
    if (
        not isinstance(answer, Mapping)
        or "jsonrpc" in answer
        or any(isinstance(answer.get(name), list) for name in _OF_MODELS)
    ):
        return False
    return _has_token(answer, _DEPTH)


def _has_token(answer: JSON, depth: int) -> bool:
    if not isinstance(answer, Mapping) or not depth:
        return False
    return any(_is_token(name, value) or _has_token(value, depth - 1) for name, value in answer.items())


def _is_token(name: str, value: JSON) -> bool:
    if not isinstance(value, str) or not value:
        return False
    return _TOKENS.fullmatch(name) is not None or (is_named(name) and _OPAQUE.fullmatch(value) is not None)


class AnswerStream:
    """Redacts an answer's body. A body that may contain a token is held to its end; others pass after the first bytes.

    Args:
        redactor: Removes the known secrets.
        is_login: Whether the answer is to a login, and may contain a token in any form.
    """

    left_out = 0

    def __init__(self, redactor: BodyRedactor, *, is_login: bool = False) -> None:
        self._inner: RedactedStream = redactor.stream()
        self._learn = redactor.learn_value
        self._is_login = is_login
        self._held = bytearray()
        self._is_passing = False
        self._is_line_seen = False

    @property
    def shifts(self) -> Sequence[Shift]:
        """The places from which secrets were removed by value."""
        return self._inner.shifts

    @property
    def is_open(self) -> bool:
        """Whether text is held back because it may be the beginning of a secret."""
        return self._inner.is_open

    def release(self) -> Kept:
        """Return the text held back, because its rest does not arrive in time."""
        return self._inner.release()

    def feed(self, data: bytes, /) -> Kept:
        """Take bytes; returns bytes as soon as it is clear that the body has no token."""
        if self._is_passing:
            return self._inner.feed(data)
        self._held += data
        if len(self._held) <= LIMIT and (self._is_login or self._may_tell(data)):
            return b"", ()
        self._is_passing = True
        return self._inner.feed(self._taken())

    def flush(self) -> Kept:
        """Return the rest."""
        held, redactions = self._taken(), ()
        if held and (self._is_login or tells_token(held)):
            held, redactions = without_tokens(held, self._learn)
        first, in_first = self._inner.feed(held)
        rest, in_rest = self._inner.flush()
        return first + rest, (*redactions, *in_first, *in_rest)

    def _may_tell(self, data: bytes) -> bool:
        begin = bytes(self._held[:_BEGINNING]).lstrip(BLANKS)
        if len(begin) < len(b"<!doctype ") and len(self._held) < _BEGINNING and begin[:1] in {b"", b"<"}:
            return True
        if begin.startswith(b"<"):
            return _PAGE.match(begin) is not None
        if not begin.startswith(b"{"):
            return False
        return self._is_line_seen or b"\n" not in data or not self._is_first_of_lines()

    def _is_first_of_lines(self) -> bool:
        """Return whether the body is an object a line, as some models stream, and the first hands out no token."""
        line, end, _ = bytes(self._held).lstrip(BLANKS).partition(b"\n")
        self._is_line_seen = bool(end)
        return self._is_line_seen and line.rstrip().endswith(b"}") and read(line) is not None and not tells_token(line)

    def _taken(self) -> bytes:
        held = bytes(self._held)
        self._held.clear()
        return held
