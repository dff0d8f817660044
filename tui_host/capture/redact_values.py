"""Secrets looked for by value in bytes: their forms, where they stand, and what is put in their place."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote, quote_plus

from tui_host.capture.record import Redaction

Shift: TypeAlias = tuple[int, int, int]
"""Where a secret stood in a body: its first byte, one past its last, and how many bytes stand there instead."""

_NOT_IN_A_NAME = re.compile(r"[^\w.\-]")


@dataclass(frozen=True, slots=True)
class Needle:
    """One form of one secret: what to look for, and what to put in its place."""

    name: str
    data: bytes
    mark: bytes


@dataclass(frozen=True, slots=True)
class Hit:
    """Where one stands."""

    start: int
    end: int
    needle: Needle


def mark(name: str) -> str:
    """What stands where a secret was; nothing in it needs escaping in JSON."""
    return f"⟨secret:{name_in_mark(name)}⟩"


def name_in_mark(name: str) -> str:
    """A secret's name as its mark has it."""
    return _NOT_IN_A_NAME.sub("_", name)


def hits_in(data: bytes, needles: tuple[Needle, ...]) -> list[Hit]:
    """Where secrets stand in the bytes, in order, without overlap."""
    hits: list[Hit] = []
    for needle in needles:
        if needle.data in data:
            hits.extend(_occurrences(data, needle))
    if len(hits) < 2:
        return hits
    hits.sort(key=lambda hit: (hit.start, -hit.end))
    merged = [hits[0]]
    for hit in hits[1:]:
        last = merged[-1]
        if hit.start >= last.end:
            merged.append(hit)
        elif hit.end > last.end:
            merged[-1] = Hit(last.start, hit.end, last.needle)
    return merged


def _occurrences(data: bytes, needle: Needle) -> Iterator[Hit]:
    at = data.find(needle.data)
    while at >= 0:
        end = at + len(needle.data)
        yield Hit(at, end, needle)
        at = data.find(needle.data, end)


def without(data: bytes, hits: list[Hit]) -> tuple[bytes, tuple[Redaction, ...]]:
    """The bytes with marks where these stand, and what was taken out."""
    pieces: list[bytes] = []
    end = 0
    for hit in hits:
        pieces += (data[end : hit.start], hit.needle.mark)
        end = hit.end
    pieces.append(data[end:])
    found = tuple(Redaction(where="data", name=hit.needle.name, length=hit.end - hit.start) for hit in hits)
    return b"".join(pieces), found


def forms_of(value: str) -> set[bytes]:
    """Every form in which a secret is looked for."""
    raw = value.encode("utf-8", "surrogateescape")
    forms = {raw}
    for safe in ("", "/", "/:@!$&'()*,;=+~", "-_.!~*'()"):
        percent = quote(raw, safe=safe)
        forms |= {percent.encode(), _lower_hex(percent).encode()}
    percent = quote_plus(raw)
    forms |= {percent.encode(), _lower_hex(percent).encode()}
    for ascii_only in (True, False):
        once = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        twice = json.dumps(once, ensure_ascii=ascii_only)[1:-1]  # a call's arguments are JSON in JSON
        slashes = once.replace("/", "\\/")
        forms |= {form.encode("utf-8", "surrogateescape") for form in (once, twice, slashes)}
    for offset in (0, 1, 2):
        forms |= set(_base64_inside(raw, offset))
    return forms


def _base64_inside(raw: bytes, offset: int) -> tuple[bytes, bytes]:
    """The characters that the secret alone determines, where it stands at some offset of three in what is encoded."""
    encoded = base64.b64encode(b"\0" * offset + raw)
    first, last = -(-8 * offset // 6), 8 * (offset + len(raw)) // 6
    inside = encoded[first:last]
    return inside, inside.translate(bytes.maketrans(b"+/", b"-_"))


def _lower_hex(percent: str) -> str:
    return re.sub(r"%[0-9A-F]{2}", lambda match: match[0].lower(), percent)
