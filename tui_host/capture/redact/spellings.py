"""The spellings in which a secret is looked for: what encoders make of it, where they escape all of it or what they have to."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from itertools import product
from urllib.parse import quote

_SAFE_IN_URLS = ("", "/", "/:@!$&'()*,;=+~", "-_.!~*'()")
"""What encoders of URLs leave as it is, beside letters, digits and `-_.~`."""
_ESCAPED_IN_JSON = ("", "<>&", "<>&'", "<>&'+`", "<>&'+`\"")
"""What encoders of JSON escape beside what they have to: those of Go, PHP and .NET, careful of what stands in a page."""
_ESCAPED_IN_PAGES = ("&<>", '&<>"', "&<>\"'", "&<>\"'/", "&<>\"'`=", "&<>\"'/`=+")
_ENTITIES: tuple[dict[str, str], ...] = (
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&apos;"},
    {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"},
    {"&": "&amp;", "<": "&lt;", ">": "&gt;"},
    {},
)
"""What encoders of pages have names for; all else is a number."""
_NUMBERED = ("&#{:d};", "&#x{:X};")

_IN_JSON = tuple(str.maketrans({each: f"\\u{ord(each):04X}" for each in some}) for some in _ESCAPED_IN_JSON)
_IN_PAGES = tuple(
    str.maketrans({each: names.get(each) or form.format(ord(each)) for each in some})
    for some, names, form in product(_ESCAPED_IN_PAGES, _ENTITIES, _NUMBERED)
)
_HEX_ESCAPE = re.compile(r"%[0-9A-F]{2}|\\u[0-9A-F]{4}|\\x[0-9A-F]{2}|&#x[0-9A-F]+;")


def forms_of(value: str) -> set[bytes]:
    """Every form in which a secret is looked for."""
    raw = value.encode("utf-8", "surrogateescape")
    texts = {
        raw.hex(),
        raw.hex().upper(),
        *_in_url(raw),
        *_in_json(value),
        *_in_page(value),
        *_escaped_throughout(value),
    }
    texts |= {_HEX_ESCAPE.sub(lambda match: match[0].lower(), each) for each in texts}
    found = {raw, *(each.encode("utf-8", "surrogateescape") for each in texts)}
    for offset in (0, 1, 2):
        found |= set(_base64_inside(raw, offset))
    return found


def _in_url(raw: bytes) -> Iterator[str]:
    for safe in _SAFE_IN_URLS:
        once = quote(raw, safe=safe)
        yield from (once, once.replace("%20", "+"), quote(once, safe=safe))  # the last in a URL in a URL


def _in_json(value: str) -> Iterator[str]:
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        for table in _IN_JSON:
            text = (once.replace('\\"', '"') if ord('"') in table else once).translate(table)
            for each in (text, text.replace("/", "\\/")):
                yield each
                yield each.replace("\\", "\\\\").replace('"', '\\"')  # a call's arguments are JSON in JSON


def _in_page(value: str) -> Iterator[str]:
    yield from (value.translate(table) for table in _IN_PAGES)


def _escaped_throughout(value: str) -> Iterator[str]:
    raw = value.encode("utf-8", "surrogateescape")
    units = value.encode("utf-16-be", "surrogatepass")
    in_json = "".join(f"\\u{units[at] << 8 | units[at + 1]:04X}" for at in range(0, len(units), 2))
    yield from (in_json, in_json.replace("\\", "\\\\"))
    yield from ("".join(map(form.format, raw)) for form in ("%{:02X}", "\\x{:02X}"))
    yield from ("".join(map(form.format, map(ord, value))) for form in _NUMBERED)


def _base64_inside(raw: bytes, offset: int) -> tuple[bytes, bytes]:
    """The characters that the secret alone determines, where it stands at some offset of three in what is encoded."""
    encoded = base64.b64encode(b"\0" * offset + raw)
    first, last = -(-8 * offset // 6), 8 * (offset + len(raw)) // 6
    inside = encoded[first:last]
    return inside, inside.translate(bytes.maketrans(b"+/", b"-_"))
