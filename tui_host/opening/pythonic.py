"""Values as Python writes them: who puts a parsed body into a line with `print` or `%s` leaves `{'model': …, 'stream': True}` there.

What was on the wire said the same in JSON, and so it is shown; its bytes are not in the file.
"""

from __future__ import annotations

import ast
import json
import re
import warnings

from tui_host.capture.json.reading import LEVELS, is_deeper
from tui_host.capture.json.scan import Data
from tui_host.errors import JSON

MOST = 4 << 20
VALUES = 50_000
"""Bytes of one, and values in it: to read it takes many times its size in memory, and long."""
_OF_A_WIRE = re.compile(rb"jsonrpc|messages|choices|content|candidates|model|response|error|done")
"""Words of which each thing that was on a wire has one: a log may be full of other values."""
_BEGIN = re.compile(rb"\[?\{\s*'")
_BRACKET = re.compile(rb"""[{}\[\]()]|'[^'\\\n]*(?:\\.[^'\\\n]*)*'?|"[^"\\\n]*(?:\\.[^"\\\n]*)*"?""")
"""A bracket, or a text; one without an end goes to that of its line, so that no look for it begins once more within it."""
_PLAIN = re.compile(
    r"""'[^'\\]*(?:\\.[^'\\]*)*'|"[^"\\]*(?:\\.[^"\\]*)*"|[\s{}\[\](),:.\de-]+|True|False|None""", re.DOTALL
)
"""What such a value is made of: no name, no operator, nothing over which a compiler thinks for long."""


def looks_pythonic(data: bytes) -> bool:
    """Whether it begins as a dictionary of Python's, or a list of them, and not as JSON."""
    return _BEGIN.match(data) is not None


def several_lines(data: Data, at: int) -> int:
    """Where the lines end, of those that Python's `pprint` writes for one value, of which the first is at a place: all others begin with a space."""
    end = data.find(b"\n", at)
    while 0 <= end < at + MOST and data[end + 1 : end + 2] == b" ":
        end = data.find(b"\n", end + 1)
    return end if end >= 0 else len(data)


def pythonic_end(data: bytes) -> int:
    """One past the last byte of the value that they begin with; 0 if it has no end."""
    depth = 0
    for found in _BRACKET.finditer(data):
        if found[0] in {b"{", b"[", b"("}:
            depth += 1
        elif found[0] in {b"}", b"]", b")"}:
            depth -= 1
            if not depth:
                return found.end()
    return 0


def read_pythonic(data: bytes) -> JSON:
    """The value that a line ends with, None if it is none, too deep, or too large."""
    if len(data) > MOST or data.count(b",") > VALUES or _OF_A_WIRE.search(data) is None:
        return None
    text = data.decode("utf-8", "replace").strip()
    if text[-1:] not in {"}", "]"} or is_deeper(text, LEVELS) or not _is_plain(text):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the compiler, on foreign escapes
            value: object = ast.literal_eval(text)
        said: JSON = json.loads(json.dumps(value))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None  # the last two are what a parser says of what is too much
    return said


def written_as_json(value: JSON) -> bytes:
    """What it says in JSON."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _is_plain(text: str) -> bool:
    at = 0
    while at < len(text):
        found = _PLAIN.match(text, at)
        if found is None:
            return False
        at = found.end()
    return True
