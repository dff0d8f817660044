"""Keys in a request to a model beside what is said: in its settings, and in what is told of who asks. Source: DESIGN, Contract, Secrets.

There a name that sounds like a key's is one's, where its value is a key's too. In what is said, and in what tools are called with, the same
names are anything: that is what people want to read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tui_host.capture.enclosed import TEXT
from tui_host.capture.redact_taking import SPACE, Taking, decoded, read
from tui_host.errors import JSON
from tui_host.settings.credentials import is_by_chance, is_credential_key, is_somebodys_key
from tui_host.settings.credentials_places import is_given

_NAME = re.compile(rb'"([\w.-]{1,100}+)"' + SPACE + b":" + SPACE + b'"')
_MEMBER = re.compile(rb'"([\w.-]{1,100}+)"(' + SPACE + b":" + SPACE + b")" + TEXT, re.DOTALL)
_SAID = frozenset(
    ("messages", "message", "input", "inputs", "contents", "content", "prompt", "prompts", "history", "documents")
) | {"system", "systemInstruction", "system_instruction", "instructions", "suffix", "query", "text"}
"""What is said to a model, in whatever dialect."""
_OF_TOOLS = frozenset(("tools", "functions", "arguments", "args", "response_format", "format", "schema", "json_schema"))
"""What tools are called with, and what they, or an answer, may look like."""
_DEPTH = 8


def without_keys_beside(data: bytes, taking: Taking) -> bytes:
    """A request to a model without the keys that stand beside what is said."""
    names = {name for name in set(_NAME.findall(data)) if is_credential_key(_text(name))}
    starts = [hit.start() for hit in _NAME.finditer(data) if hit[1] in names] if names else ()
    found = [(member, said) for start in starts for member, said in _member(data, start) if _is_key(*said)]
    told = read(data) if found else None
    if not isinstance(told, dict) or "jsonrpc" in told or not ("model" in told or _SAID.intersection(told)):
        return data
    keys = set(_keys(told, _DEPTH))
    pieces: list[bytes] = []
    end = 0
    for member, said in found:
        if said in keys:
            pieces += (data[end : member.start()], taking.member(member))
            end = member.end()
    return b"".join((*pieces, data[end:]))


def _member(data: bytes, start: int) -> Iterator[tuple[re.Match[bytes], tuple[str, str]]]:
    """The member that begins there, with its name and value, if it has an end."""
    member = _MEMBER.match(data, start)
    if member is not None:
        yield member, (_text(member[1]), decoded(member[3]))


def _keys(value: JSON, depth: int) -> Iterator[tuple[str, str]]:
    """Names and values of the keys in an object, or in several, but for what is said in it."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, str):
                if _is_key(name, inner):
                    yield name, inner
            elif depth and name not in _SAID and name not in _OF_TOOLS:
                yield from _keys(inner, depth - 1)
    elif isinstance(value, list):
        for each in value if depth else ():
            yield from _keys(each, depth - 1)


def _is_key(name: str, value: str) -> bool:
    if not is_credential_key(name):
        return False
    return is_by_chance(value) or (is_somebodys_key(name) and is_given(name, value))


def _text(raw: bytes) -> str:
    return raw.decode("latin-1")
