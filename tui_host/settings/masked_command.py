"""Masks likely secrets in a command shown on screen: by position, or because the text looks like a key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tui_host.settings.credential_places import in_url
from tui_host.settings.sensitivity import pieces, sensitivity

HIDDEN = "•••"

# An argument may be a program of many lines: each pattern scans a part only a few times.
_OPTION = re.compile(r"-{1,2}[\w.-]+")
_ASSIGNED = re.compile(r"(?<![\w.-])([\w.-]++)\s*+[=:]\s*(?=.)", re.DOTALL)
_SCHEME = re.compile(r"(?<=bearer )\S.*|(?<=basic )\S.*", re.IGNORECASE | re.DOTALL)
_REFERENCE = re.compile(r"(?:(?:bearer|basic)\s+)?\$\{?[\w:.-]+\}?", re.IGNORECASE)
# A long word of letters and digits counts as a key: names of options and packages are shorter. `eyJ` begins a signed token.
_LONG = re.compile(r"eyJ[\w.-]{12,}|(?=[\w+=]*[A-Za-z])(?=[\w+=]*\d)[\w+=]{24,}", re.ASCII)


def hide(words: Iterable[str]) -> Iterator[str]:
    """Yield the words of a command with likely secrets masked. References such as `${API_KEY}` stay."""
    is_value = False
    for word in words:
        yield _hidden(word) if is_value and not word.startswith("-") else _without(word)
        is_value = _OPTION.fullmatch(word) is not None and sensitivity(word) != "none"


def _without(word: str) -> str:
    for start, end, _ in sorted(in_url(word), reverse=True):
        word = f"{word[:start]}{_hidden(word[start:end])}{word[end:]}"
    if "://" not in word:
        names = (match for match in _ASSIGNED.finditer(word) if sensitivity(match[1]) != "none")
        if (secret := next(names, None)) is not None:
            word = word[: secret.end()] + _hidden(word[secret.end() :])
        word = _SCHEME.sub(lambda match: _hidden(match[0]), word)
    word = "".join(HIDDEN if is_key else piece for piece, is_key in pieces(word))
    return _LONG.sub(HIDDEN, word)


def _hidden(text: str) -> str:
    return text if _REFERENCE.fullmatch(text) else HIDDEN
