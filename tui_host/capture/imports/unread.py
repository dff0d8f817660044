"""What other programs save in forms of their own, which are not read here: known by how they begin, and told with what to do instead."""

from __future__ import annotations

import re
from typing import NamedTuple

from tui_host.capture.imports.seen import File, line_of
from tui_host.errors import TuiHostError

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


_JAVASCRIPT = _Form(
    "these are objects as JavaScript prints them, and no JSON: what is nested in them is left out, as [Object]",
    "have the program print JSON.stringify(object), and name what it writes then",
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
    where = f"{file.name}, line {line_of(file.data, found.start())}"
    return TuiHostError(_JAVASCRIPT.what, where, _JAVASCRIPT.remedy)


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
