"""What other programs save in forms of their own, or say by other APIs, which is not read here: known by what it is, and told with what to do instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON, TuiHostError
from tui_host.opening.drafts import File, line_of

_FLOWS = re.compile(rb"(\d{1,12}):\d{1,2}:[a-z_]{1,40}[;,]")
"""A dictionary as mitmproxy writes it, up to its first key."""
_PACKETS = re.compile(
    rb"\xd4\xc3\xb2\xa1|\xa1\xb2\xc3\xd4|\x4d\x3c\xb2\xa1|\xa1\xb2\x3c\x4d|\n\r\r\n.{4}(?:\x4d\x3c\x2b\x1a|\x1a\x2b\x3c\x4d)",
    re.DOTALL,
)
"""Source: the IETF's drafts of pcap, section 4, and pcapng, section 4.1."""
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")


_OF_JAVASCRIPT = re.compile(
    rb"\{\s+(?:[\w$]+: (?:'[^'\n]{0,200}'|[\w.-]{1,40}),\s+){0,8}"
    rb"(?:jsonrpc|model|messages|choices|message|candidates|contents|system|tools|object|method|params|result|role): ['\"`\[{]"
)
"""An object as node's `console.log` prints it, up to a member that is on a wire."""
_LOOKED_AT = 1 << 16
_LEFT_OUT = re.compile(rb"[:\[,]\s+\[(?:Object|Array)\]")
"""So stands in them what is nested deeper than it prints, unless it is told to print all."""
_OF_ONE = 1 << 11
"""Bytes in which the members of one such object are looked for."""
_TRIES = 100
"""How many lines that are left out are looked at so."""
_OF_CHATS = frozenset({"messages", "input", "contents", "jsonrpc"})


class _Form(NamedTuple):
    what: str
    remedy: str


_MITMPROXY = _Form(
    "these are flows of mitmproxy, which are not read here",
    "make an HTTP archive of them: mitmdump -nr FILE --set hardump=FILE.har",
)
_WIRESHARK = _Form(
    "these are packets, as Wireshark and tcpdump save them, which are not read here",
    "save the bodies in them (File > Export Objects > HTTP in Wireshark), and name a request and its answer",
)
_CHARLES = _Form(
    "this is a session of Charles, which is not read here",
    "save it as an HTTP archive: File > Export Session, as .har",
)
_FIDDLER = _Form(
    "this is an archive of Fiddler, which is not read here",
    "save it as an HTTP archive: File > Export Sessions, as HTTPArchive",
)
_PACKED = _Form("this is a zip, which is not read here", "unpack it, and name what is in it")
_NAMED = {**dict.fromkeys(("chls", "chlz", "chlsj", "chlsx"), _CHARLES), "saz": _FIDDLER}
"""Those that have no beginning of their own."""


_STRINGIFY = "have the program print JSON.stringify(object), and name what it writes then"
_JAVASCRIPT = _Form(
    "these are objects as JavaScript prints them, which are not read here: they are no JSON", _STRINGIFY
)
_SHORTENED = _Form(
    "these are objects as JavaScript prints them, and no JSON: what is nested in them is left out, as [Object]",
    _STRINGIFY,
)

_COMPLETION = _Form(
    "these are completions of a text, as /api/generate of Ollama and /v1/completions give them, which are not read here",
    "capture a chat: /api/chat or /v1/chat/completions",
)


def unread(file: File) -> TuiHostError | None:
    """Why a file is not read, and what to do; None where it is none of these."""
    form = _form(file)
    return None if form is None else TuiHostError(form.what, file.name, form.remedy)


def printed_objects(file: File) -> TuiHostError | None:
    """The same for a log of objects that a program printed for eyes; None where it is none."""
    found = _OF_JAVASCRIPT.search(file.data[:_LOOKED_AT])
    if found is None:
        return None
    form = _printed(file, found.start())
    return TuiHostError(form.what, f"{file.name}, line {line_of(file.data, found.start())}", form.remedy)


def _printed(file: File, at: int) -> _Form:
    """What objects are that JavaScript printed from a place on: all of each may be there, too."""
    is_shortened = _LEFT_OUT.search(file.data[at : at + _LOOKED_AT]) is not None
    return _SHORTENED if is_shortened else _JAVASCRIPT


def is_completion(value: JSON) -> bool:
    """Whether a value is a request for a completion of a text, or such an answer of Ollama's, or has one as a member."""
    return any(_is_one_completion(mapping(each)) for each in (value, *mapping(value).values()))


def completion(file: File, at: int) -> TuiHostError:
    """Why a file is not read that has such a value in the line that begins there."""
    return TuiHostError(_COMPLETION.what, f"{file.name}, line {line_of(file.data, at)}", _COMPLETION.remedy)


def _is_one_completion(body: Mapping[str, JSON]) -> bool:
    if body.keys() & _OF_CHATS:
        return False
    is_asked = "model" in body and isinstance(body.get("prompt"), str | list)
    return is_asked or ("model" in body and isinstance(body.get("response"), str) and "done" in body)


class LeftOut:
    """Lines that are left out of a log that is read: of some it is known what they are."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._tries = _TRIES
        self._firsts: dict[_Form, int] = {}
        self._printed_at = -1

    def see(self, at: int, text: bytes, value: JSON) -> None:
        """One of them.

        Args:
            at: Where it begins.
            text: It, where there is no JSON in it.
            value: What this says.
        """
        if is_completion(value):
            self._firsts.setdefault(_COMPLETION, at)
        elif self._printed_at < 0 and self._tries and b"{" in text:
            self._tries -= 1
            found = _OF_JAVASCRIPT.search(self._file.data[at : at + _OF_ONE])
            if found is not None and found.start() < len(text):
                self._printed_at = at
                self._firsts[_printed(self._file, at)] = at

    def told(self) -> Iterator[str]:
        """What a person should be told of them."""
        for form, at in self._firsts.items():
            yield f"{self._file.name}, from line {line_of(self._file.data, at)} on: {form.what} ({form.remedy})."


def _form(file: File) -> _Form | None:
    if _are_flows(file):
        return _MITMPROXY
    if _PACKETS.match(file.data[:12]):
        return _WIRESHARK
    named = _NAMED.get(file.name.rpartition(".")[2].lower())
    return named or (_PACKED if file.data[:4] in _ZIP else None)


def _are_flows(file: File) -> bool:
    """Whether it begins with a dictionary, which ends where it says, or is cut off before that."""
    begins = _FLOWS.match(file.data[:64])
    if begins is None:
        return False
    end = begins.end(1) + 1 + int(begins[1])
    return file.data[end : end + 1] in {b"}", b""}
