"""Recognises files and lines that cannot be read, and says what to do instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import NamedTuple

from tui_host.capture.json.narrowing import mapping
from tui_host.errors import JSON, TuiHostError
from tui_host.opening.import_types import File, place_of
from tui_host.opening.logs.log_lines import Line, LogLines

_FLOWS = re.compile(rb"(\d{1,12}):\d{1,2}:[a-z_]{1,40}[;,]")
"""A dictionary in mitmproxy's form, up to its first key."""
_PACKETS = re.compile(
    rb"\xd4\xc3\xb2\xa1|\xa1\xb2\xc3\xd4|\x4d\x3c\xb2\xa1|\xa1\xb2\x3c\x4d|\n\r\r\n.{4}(?:\x4d\x3c\x2b\x1a|\x1a\x2b\x3c\x4d)",
    re.DOTALL,
)
"""Beginnings of packet captures. Source: the IETF's drafts of pcap, section 4, and pcapng, section 4.1."""
_ZIP = (b"PK\x03\x04", b"PK\x05\x06")
_WIRE_NAMES = (
    r"jsonrpc|model|messages|choices|message|candidates|contents|system|tools|object|method|params|result|role"
)
_OF_PYTHON = re.compile(rf"""\{{'(?:{_WIRE_NAMES})': |\bb['"](?:data: ?|\{{\\?")""")
"""A dictionary or bytes in the form of Python's `print` and `repr`."""
_PRINTED = re.compile(r"""(?<!\w)(?:b['"]|['"](?=data:|event:))(?:(?:data|event): ?)?\Z""")
"""The beginning of bytes, or of a stream's text, as Python prints them, with doubled backslashes."""
_OF_JAVASCRIPT = re.compile(
    rf"""\{{\s+(?:[\w$]+: (?:'[^'\n]{{0,200}}'|[\w.-]{{1,40}}),\s+){{0,8}}(?:{_WIRE_NAMES}): ['"`\[{{]"""
)
"""An object in the form of node's `console.log`."""
_CUT_VALUE = re.compile(r"""\{\s*"(?:\w+)"\s*:""")
_CHAT_MEMBERS = frozenset({"messages", "input", "contents", "jsonrpc"})
_LINES_LOOKED_AT = 100


class Unsupported(NamedTuple):
    """An unsupported format, with a remedy."""

    what: str
    remedy: str


_TAP = "or record with tui-host tap"
_MITMPROXY = Unsupported(
    "these are flows of mitmproxy, which are not read here",
    "make an HTTP archive of them: mitmdump -nr FILE --set hardump=FILE.har",
)
_WIRESHARK = Unsupported(
    "these are packets, as Wireshark and tcpdump save them, which are not read here",
    "save the bodies in them (File > Export Objects > HTTP in Wireshark), and name a request and its answer",
)
_CHARLES = Unsupported(
    "this is a session of Charles, which is not read here", "save it as an HTTP archive: File > Export Session, as .har"
)
_FIDDLER = Unsupported(
    "this is an archive of Fiddler, which is not read here",
    "save it as an HTTP archive: File > Export Sessions, as HTTPArchive",
)
_PACKED = Unsupported("this is a zip, which is not read here", "unpack it, and name what is in it")
_BY_SUFFIX = {**dict.fromkeys(("chls", "chlz", "chlsj", "chlsx"), _CHARLES), "saz": _FIDDLER}
_PYTHON = Unsupported(
    "these are values as Python prints them, and no JSON", f"write one JSON object a line, with json.dumps, {_TAP}"
)
_JAVASCRIPT = Unsupported(
    "these are objects as JavaScript prints them, and no JSON",
    f"write one JSON object a line, with JSON.stringify, {_TAP}",
)
_CUT = Unsupported("the JSON in it is cut off or broken", f"write one whole JSON object a line, {_TAP}")
_COMPLETION = Unsupported(
    "these are completions of a text, as /api/generate of Ollama and /v1/completions give them, which are not read here",
    "capture a chat: /api/chat or /v1/chat/completions",
)


def unsupported_format(file: File) -> TuiHostError | None:
    """Return the error for a file in another program's format; None for any other file."""
    if _are_flows(file):
        form: Unsupported | None = _MITMPROXY
    elif _PACKETS.match(file.data[:12]):
        form = _WIRESHARK
    else:
        form = _BY_SUFFIX.get(file.name.rpartition(".")[2].lower()) or (_PACKED if file.data[:4] in _ZIP else None)
    return None if form is None else TuiHostError(form.what, file.name, form.remedy)


def unsupported_log(file: File) -> TuiHostError | None:
    """Return the error for a log without readable lines, by the first line with a known reason; None without one."""
    with_braces = (line for line in LogLines(file.data) if line.value is not None or "{" in line.before)
    for line in islice(with_braces, _LINES_LOOKED_AT):
        if (form := _reason(line, file)) is not None:
            return TuiHostError(form.what, f"{file.name}, {place_of(file, line.at)}", form.remedy)
    return None


def is_printed(before: str) -> bool:
    """Whether JSON after these words is inside bytes or a text as Python prints them."""
    return before.endswith(("'", '"', ": ", ":")) and _PRINTED.search(before) is not None


class UnreadLines:
    """Collects the reasons why lines of a log are left out, if the user can do something about them."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._looks = _LINES_LOOKED_AT
        self._first_places: dict[Unsupported, int] = {}

    def see(self, line: Line) -> None:
        """Examine a line that is left out."""
        if self._looks and (line.value is not None or "{" in line.before or "'" in line.before):
            self._looks -= 1
            if (form := _reason(line, self._file)) is not None:
                self._first_places.setdefault(form, line.at)

    def messages(self) -> Iterator[str]:
        """Yield a sentence for each reason."""
        for form, at in self._first_places.items():
            yield f"{self._file.name}, from {place_of(self._file, at)} on: {form.what} ({form.remedy})."


def _reason(line: Line, file: File) -> Unsupported | None:
    if is_printed(line.before) and line.data:
        return _PYTHON
    if line.value is not None:
        return _COMPLETION if _has_completion(line.value) else None
    text = line.before
    if _OF_PYTHON.search(text):
        return _PYTHON
    if text.rstrip().endswith("{") or "{ " in text:
        ahead = file.data[line.at : line.at + (1 << 11)].decode("utf-8", "replace")
        if (match := _OF_JAVASCRIPT.search(ahead)) is not None and match.start() < len(text):
            return _JAVASCRIPT
    return _CUT if _CUT_VALUE.search(text) else None


def _has_completion(value: JSON) -> bool:
    return any(_is_completion(mapping(member)) for member in (value, *mapping(value).values()))


def _is_completion(body: Mapping[str, JSON]) -> bool:
    if "model" not in body or body.keys() & _CHAT_MEMBERS:
        return False
    return isinstance(body.get("prompt"), str | list) or (isinstance(body.get("response"), str) and "done" in body)


def _are_flows(file: File) -> bool:
    """Whether the file begins with a dictionary of mitmproxy, whole or cut off."""
    begins = _FLOWS.match(file.data[:64])
    if begins is None:
        return False
    end = begins.end(1) + 1 + int(begins[1])
    return file.data[end : end + 1] in {b"}", b""}
