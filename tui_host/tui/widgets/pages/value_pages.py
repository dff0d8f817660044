"""Values in a JSON text: where they stand, what their strings hold, and their bytes."""

from __future__ import annotations

import json
import re
from typing import Literal, NamedTuple, TypeAlias

from tui_host.answers.bodies import hex_text
from tui_host.capture.json.reading import read_json
from tui_host.capture.json.spans import spans
from tui_host.capture.visible import decode
from tui_host.tui.widgets.lines.json_lines import key_end, looks_like_json
from tui_host.tui.widgets.pages.text_page import TextPage

Mode: TypeAlias = Literal["fold", "open", "raw", "hex"]
"""What stands in place of a value: nothing, what a string holds, or the value's bytes."""

_STRING = re.compile(r'"[^"\\]*+(?:\\.[^"\\]*+)*+"?', re.DOTALL)
_OTHER = re.compile(r"[^\s,\]}]*")
_SPACE = re.compile(r"\s*")
MOST_READ = 1_000_000
"""Characters of a string that are read; of a longer one the rest is in its bytes."""
_MOST_HEX = 1 << 16
_DECODER = json.JSONDecoder(strict=False)
_CUT = 12
"""Characters of the longest escape, a pair of surrogates."""


class Value(NamedTuple):
    """A value on a line, as a range of the text; the end of a container is not known."""

    kind: Literal["container", "string", "other"]
    start: int
    end: int


def path_at(body: bytes, place: int) -> str:
    """Return the path of the outermost value that begins at a place in JSON, else of the innermost around it."""
    path, start, end = "", 0, len(body)
    while (start < place or not path) and (node := spans(body[start:end], depth=1)) is not None:
        steps = [(key_step(json.dumps(key, ensure_ascii=False)), child) for key, child in node.members]
        steps += [(f"[{number}]", child) for number, child in enumerate(node.elements)]
        inside = next(((step, child) for step, child in steps if child.start <= place - start < child.end), None)
        if inside is None:
            break
        path += inside[0]
        start, end = start + inside[1].start, start + inside[1].end
    return path.removeprefix(".")


def value_at(text: str, place: int) -> Value:
    """Return the value on the line that begins at a place."""
    start = key_end(text, place, len(text)) or place
    space = _SPACE.match(text, start)
    start = space.end() if space else start
    if text[start : start + 1] == '"':
        match = _STRING.match(text, start)
        return Value("string", start, match.end() if match else len(text))
    if text[start : start + 1] in {"{", "["}:
        inside = _SPACE.match(text, start + 1)
        end = inside.end() if inside else start + 1
        is_empty = text[end : end + 1] in {"}", "]"}
        return Value("other" if is_empty else "container", start, end + 1)
    match = _OTHER.match(text, start)
    return Value("other", start, max(start + 1, match.end() if match else start))


def decoded(literal: str) -> str:
    """Return what a JSON string says; of a long one, or one that is cut off, what there is."""
    is_whole = len(literal) <= MOST_READ and len(literal) > 1 and literal.endswith('"')
    inside = literal[1:-1] if is_whole else literal[1 : MOST_READ + 1]
    for size in range(len(inside), max(-1, len(inside) - _CUT), -1):
        try:
            return str(_DECODER.decode(f'"{inside[:size]}"'))
        except ValueError:
            continue
    return inside


def holds_json(text: str) -> bool:
    """Whether a text is an object or a list; a long one is judged by its beginning."""
    if not looks_like_json(text):
        return False
    try:
        return len(text) >= MOST_READ // 2 or isinstance(read_json(text), dict | list)
    except ValueError:
        return False


def key_step(key: str) -> str:
    """Return a key as a step of a path: `.name`, or `["a b"]` where that is no identifier."""
    return f".{key[1:-1]}" if key[1:-1].isidentifier() else f"[{key}]"


def joined(outer: str, inner: str, *, is_string: bool) -> str:
    """Continue a path inside a value; inside of a string that holds JSON as `jq` writes paths."""
    inner = inner.removeprefix(".")
    if is_string:
        return f"{outer} | fromjson | .{inner}" if inner else f"{outer} | fromjson"
    return f"{outer}{'.' * bool(outer and inner and not inner.startswith('['))}{inner}"


def is_utf8(data: bytes) -> bool:
    """Whether bytes are text in UTF-8."""
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


def bytes_page(what: str, data: bytes | str, mode: Mode, width: int) -> TextPage:
    """Return bytes as a page: as text, or as offsets, hex and text."""
    if mode == "raw":
        return TextPage(what, data if isinstance(data, str) else decode(data))
    part = data[: _MOST_HEX + 1]
    part = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
    by = next((by for by, cells in ((16, 75), (8, 43)) if width >= cells), 4)
    notes = (f"the first {_MOST_HEX:,} bytes",) if len(part) > _MOST_HEX else ()
    return TextPage(what, hex_text(part, _MOST_HEX, by), form="plain", notes=notes)
