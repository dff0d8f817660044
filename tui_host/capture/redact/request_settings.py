"""Keys in a request to a model beside what is said: in its settings, and in what is told of who asks. Source: DESIGN, Contract, Secrets.

There a name that says to what it is the key is one's, and `key` or `token` alone where the value can be nothing else: what else is so named
is an id as often, by which people follow what passes. In what is said, and in what tools are called with, the same names are anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from tui_host.capture.json.brackets import TEXT
from tui_host.capture.redact.body_fields import SPACE, Taking, decoded, read
from tui_host.errors import JSON
from tui_host.settings.credential_names import is_by_chance, is_credential_key, is_somebodys_key
from tui_host.settings.credential_places import TELLING_FROM, is_given

_NAME = re.compile(rb'"([\w.-]{1,100}+)"' + SPACE + b":" + SPACE + b'"')
_MEMBER = re.compile(rb'"([\w.-]{1,100}+)"(' + SPACE + b":" + SPACE + b")" + TEXT, re.DOTALL)
_SAID = frozenset(
    ("messages", "message", "input", "inputs", "contents", "content", "prompt", "prompts", "history", "documents")
) | {"chat_history", "system", "systemInstruction", "system_instruction", "instructions", "suffix", "query", "text"}
"""What is said to a model, in whatever dialect."""
_OF_TOOLS = frozenset(
    ("tools", "functions", "arguments", "args", "response_format", "format", "schema", "json_schema", "parameters")
) | {"tool_calls", "function_call", "tool_results", "result", "results", "output", "outputs"}
"""What tools are called with, and what they, or an answer, may look like."""
_ALONE = frozenset(("key", "token", "pw", "pwd"))
"""What may be anything, if nothing stands before it."""
_DOUBTFUL = re.compile(r".*(?:account|subscription)[_.-]?key", re.IGNORECASE)
"""What may as well be an id, of which one has many."""
_KEY = re.compile(r"(?=.*\d)(?=.*[A-Za-z])[\w.~+-]+=*", re.ASCII)
_RUN = re.compile(r"[A-Za-z0-9]{16,}")
_HEX = re.compile(r"[0-9A-Fa-f-]+|.*[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}.*")
"""Ids and digests: UUIDs, also without hyphens or in a longer id, and what hashes make."""
_ULID = re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")
_WORDS = re.compile(r"(?!\s*\{|-----BEGIN).*\s.*|.*[^\x00-\x7f].*|[^/?#\s]*://.*", re.DOTALL)
"""What tells a person something, in any script, and a URL; no file of a key as JSON or PEM."""
_DEPTH = 8


def without_keys_beside(data: bytes, taking: Taking) -> bytes:
    """A request to a model without the keys that stand beside what is said."""
    names = {name for name in set(_NAME.findall(data)) if is_credential_key(_text(name))}
    told = read(data) if names else None
    if not isinstance(told, dict) or "jsonrpc" in told or not ("model" in told or _SAID.intersection(told)):
        return data
    keys = set(_keys(told, _DEPTH))
    if not keys:
        return data  # mostly: what tools are called with may have thousands of such names
    pieces: list[bytes] = []
    end = 0
    for begin in _NAME.finditer(data):
        member = _MEMBER.match(data, begin.start()) if begin[1] in names else None
        if member is not None and (_text(member[1]), decoded(member[3])) in keys:
            pieces += (data[end : member.start()], taking.member(member))
            end = member.end()
    return b"".join((*pieces, data[end:]))


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
    if name.lower() in _ALONE or _DOUBTFUL.fullmatch(name):
        return is_credential_key(name) and _is_by_form(value)
    return is_somebodys_key(name) and is_given(name, value) and not _WORDS.fullmatch(value)


def _is_by_form(value: str) -> bool:
    """Whether a value is clearly a key, whatever it is called: long, letters and digits by chance, and nobody's id or digest."""
    if len(value) < TELLING_FROM or not _KEY.fullmatch(value) or _HEX.fullmatch(value) or _ULID.fullmatch(value):
        return False
    return any(map(is_by_chance, _RUN.findall(value)))


def _text(raw: bytes) -> str:
    return raw.decode("latin-1")
