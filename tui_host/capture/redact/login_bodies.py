"""Recorders that keep nothing of the credentials in bodies, and which exchanges are about credentials."""

from __future__ import annotations

import re
from collections.abc import Sequence

from tui_host.capture.record import Draft, Head, Shift
from tui_host.capture.recorder_protocol import Recording, RedactedStream
from tui_host.capture.redact.bodies_by_place import without_keys
from tui_host.capture.redact.body_buffer import Held
from tui_host.capture.redact.body_fields import Learn
from tui_host.capture.redact.by_value import Kept
from tui_host.capture.redact.coded_bodies import request_without
from tui_host.capture.redact.login_forms import is_json_of_login, is_json_without_login, without_tokens
from tui_host.capture.redact.token_answers import AnswerStream, tells_token
from tui_host.settings.urls import parts_of

_LOGIN_PATH = re.compile(
    rb"(?:^|/)(?:oauth2?(?:/(?:device/)?\w+)?|token|login|register|authorize)/?$"
    rb"|(?<!count)(?<!count_)(?:keys?|secrets|tokens)(?:/(?:re)?generate)?/?$"
    rb"|/(?:realtime|chatkit)/\w*sessions/?$|/service_accounts/?$|/grant/?$",
    re.IGNORECASE,
)


def is_login(target: bytes, kind: bytes, body: bytes) -> bool:
    """Whether a request with this target, content type and body is about to get, or renew, or make somebody's credential.

    Forms are sent for little else; but curl calls a form whatever nobody told it the type of.
    """
    if _LOGIN_PATH.search(target) is not None or is_json_of_login(body):
        return True
    return kind.strip().lower().startswith(b"application/x-www-form-urlencoded") and not is_json_without_login(body)


def without_credentials(draft: Draft, learn: Learn) -> Draft:
    """What a host of others sent or got, without the keys in its body that are known by their place.

    Args:
        draft: A body that is whole, where it is a chunk.
        learn: Takes the name and the value of what was taken out.
    """
    if not draft.data or draft.kind not in {"request", "chunk"}:
        return draft
    if draft.kind == "chunk":
        is_pair = b'"access_token"' in draft.data and b'"token_type"' in draft.data
        is_token = draft.encoding is None and (is_pair or tells_token(draft.data))
        return _without(draft, learn, is_of_login=True, is_to_model=False) if is_token else draft
    is_of_login = draft.head is not None and is_login(_target(draft.head), _content_type(draft.head), draft.data)
    return _without(draft, learn, is_of_login=is_of_login, is_to_model=draft.wire == "llm")


def _without(draft: Draft, learn: Learn, *, is_of_login: bool, is_to_model: bool) -> Draft:
    def take_out(data: bytes) -> Kept:
        data, keys = without_keys(data, learn) if is_to_model else (data, ())
        data, tokens = without_tokens(data, learn) if is_of_login else (data, ())
        return data, keys + tokens

    return request_without(draft, take_out)


def _target(head: Head) -> bytes:
    return parts_of(head.url or "").path.encode("utf-8", "replace")


def _content_type(head: Head) -> bytes:
    return head.value("content-type").encode("utf-8", "replace")


class WithoutKeys:
    """A recorder for what others ask a model.

    What it keeps has none of the keys in it that are known by their place, and of answers none of the tokens that they hand out.

    Args:
        recorder: Keeps the records.
    """

    is_needed = True
    """Any answer may tell a token."""

    def __init__(self, recorder: Recording) -> None:
        self._recorder = recorder
        self.new_exchange = recorder.new_exchange

    @property
    def redactor(self) -> WithoutKeys:
        """Itself."""
        return self

    def stream(self) -> AnswerStream:
        """For one answer's body."""
        return AnswerStream(self._recorder.redactor)

    def stream_by_value(self) -> RedactedStream:
        """For bytes that stand for others."""
        return self._recorder.redactor.stream_by_value()

    def learn_value(self, name: str, value: str, /) -> None:
        """Know a credential from now on."""
        self._recorder.redactor.learn_value(name, value)

    def append(self, draft: Draft, /) -> int:
        """Keep a record."""
        if draft.kind == "request":
            draft = without_credentials(draft, self.learn_value)
        return self._recorder.append(draft)


class _TokenStream:
    """An answer's body, held until its end."""

    left_out = 0

    def __init__(self, recorder: Recording) -> None:
        self._inner = recorder.redactor.stream()
        self._learn = recorder.redactor.learn_value
        self._held = Held()

    @property
    def shifts(self) -> Sequence[Shift]:
        """What was taken out by value; nothing is looked for by its place in a token's answer."""
        return self._inner.shifts

    def feed(self, data: bytes, /) -> Kept:
        """Nothing, until too much is held."""
        passing = self._held.feed(data)
        return self._inner.feed(passing) if passing else (b"", ())

    def flush(self) -> Kept:
        """All of it, without what is secret."""
        held = self._held.finish()
        held, found = without_tokens(held, self._learn) if held else (held, ())
        first, in_first = self._inner.feed(held)
        rest, in_rest = self._inner.flush()
        return first + rest, (*found, *in_first, *in_rest)


class WithoutTokens:
    """A recorder for the exchanges of a login: what it keeps of their bodies has no token in it.

    Args:
        recorder: Keeps the records.
    """

    def __init__(self, recorder: Recording) -> None:
        self._recorder = recorder

    @property
    def redactor(self) -> WithoutTokens:
        """Itself."""
        return self

    @property
    def is_needed(self) -> bool:
        """Logins are about secrets."""
        return True

    def stream(self) -> _TokenStream:
        """For one answer's body."""
        return _TokenStream(self._recorder)

    def stream_by_value(self) -> RedactedStream:
        """For bytes that stand for others."""
        return self._recorder.redactor.stream_by_value()

    def learn_value(self, name: str, value: str) -> None:
        """Know a credential from now on."""
        self._recorder.redactor.learn_value(name, value)

    def append(self, draft: Draft, /) -> int:
        """Keep a record; a request without what is secret in its body."""
        if draft.kind == "request":
            draft = _without(draft, self.learn_value, is_of_login=True, is_to_model=draft.wire == "llm")
        return self._recorder.append(draft)

    def new_exchange(self) -> str:
        """A new id."""
        return self._recorder.new_exchange()
