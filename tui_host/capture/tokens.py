"""OAuth's secrets taken out of what passes between a client and an authorization server, by place. Source: DESIGN, Contract, Secrets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from tui_host.capture.record import Draft, Redaction
from tui_host.capture.recording import Recording
from tui_host.capture.redact import Shift, mark

HELD_LIMIT = 1 << 20
"""Bytes of an answer that are looked through; a larger one is no token's, and is kept as it is from there on."""

_NAMES = (
    rb"access_token|refresh_token|id_token|client_secret|registration_access_token|code|code_verifier|device_code|"
    rb"assertion|client_assertion|subject_token|actor_token|password"
)
_IN_JSON = re.compile(rb'"(' + _NAMES + rb')"([ \t\r\n]*:[ \t\r\n]*)"((?:[^"\\]|\\.)+)"')
_IN_FORM = re.compile(rb"((?:\A|(?<=&)))(" + _NAMES + rb")=([^&]+)")


def without_tokens(data: bytes) -> tuple[bytes, tuple[Redaction, ...]]:
    """A form or a JSON document of OAuth without its secrets; what cannot be read, because it is compressed, goes as a whole."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return mark("body").encode(), (Redaction(where="data", name="body", length=len(data)),)
    found: list[Redaction] = []

    def take_out(name: bytes, value: bytes) -> bytes:
        found.append(Redaction(where="data", name=name.decode(), length=len(value)))
        return mark(name.decode()).encode()

    if data.lstrip()[:1] in {b"{", b"["}:
        data = _IN_JSON.sub(lambda hit: b'"%s"%s"%s"' % (hit[1], hit[2], take_out(hit[1], hit[3])), data)
    else:
        data = _IN_FORM.sub(lambda hit: b"%s=%s" % (hit[2], take_out(hit[2], hit[3])), data)
    return data, tuple(found)


class _TokenStream:
    """An answer's body, held until its end."""

    def __init__(self, recorder: Recording) -> None:
        self._inner = recorder.redactor.stream()
        self._held = b""
        self._passing = False

    @property
    def shifts(self) -> Sequence[Shift]:
        """What was taken out by value; nothing is looked for by its place in a token's answer."""
        return self._inner.shifts

    def feed(self, data: bytes, /) -> tuple[bytes, tuple[Redaction, ...]]:
        """Nothing, until too much is held."""
        self._held += data
        if len(self._held) <= HELD_LIMIT and not self._passing:
            return b"", ()
        self._passing = True
        held, self._held = self._held, b""
        return self._inner.feed(held)

    def flush(self) -> tuple[bytes, tuple[Redaction, ...]]:
        """All of it, without what is secret."""
        held, self._held = self._held, b""
        held, found = (held, ()) if self._passing or not held else without_tokens(held)
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

    def stream(self) -> _TokenStream:
        """For one answer's body."""
        return _TokenStream(self._recorder)

    def append(self, draft: Draft, /) -> int:
        """Keep a record; a request without what is secret in its body."""
        if draft.kind == "request":
            data, found = without_tokens(draft.data)
            draft = replace(draft, data=data, redacted=draft.redacted + found)
        return self._recorder.append(draft)

    def new_exchange(self) -> str:
        """A new id."""
        return self._recorder.new_exchange()
