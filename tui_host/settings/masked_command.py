"""Masks likely secrets in a command shown on screen: by position, or because the text looks like a key."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tui_host.settings.credential_places import in_url
from tui_host.settings.sensitivity import sensitivity
from tui_host.settings.vendor_keys import pieces

HIDDEN = "•••"

# An argument may be a program of many lines: each pattern scans a part only a few times.
_OPTION = re.compile(r"-{1,2}[\w.-]+")
_ASSIGNED = re.compile(r"(?<![\w.-])([\w.-]++)\s*+[=:]\s*(?=.)", re.DOTALL)
_SCHEME = re.compile(r"((?:bearer|basic)\s+)(.+)", re.IGNORECASE | re.DOTALL)
_REFERENCE = re.compile(r"(?:(?:bearer|basic)\s+)?\$\{?[\w:.-]+\}?", re.IGNORECASE)
_SIGNED = re.compile(r"eyJ[\w.-]{12,}")
_LONG = re.compile(r"[\w+=]{24,}")
# A long word of letters and digits counts as a key: names of options and packages are shorter.
_LETTER, _DIGIT = re.compile(r"[A-Za-z]"), re.compile(r"[0-9]")


def hide(words: Iterable[str]) -> Iterator[str]:
    """Yield the words of a command with likely secrets masked. References such as `${API_KEY}` stay."""
    is_value = False
    for word in words:
        if is_value and not word.startswith("-"):
            yield word if _REFERENCE.fullmatch(word) else HIDDEN
        else:
            yield _without(word)
        is_value = _OPTION.fullmatch(word) is not None and sensitivity(word) != "none"


def _without(word: str) -> str:
    for span in sorted(in_url(word), reverse=True):
        if not _REFERENCE.fullmatch(word[span.start : span.end]):
            word = f"{word[: span.start]}{HIDDEN}{word[span.end :]}"
    if "://" not in word:
        secret_assignment = next(
            (assignment for assignment in _ASSIGNED.finditer(word) if sensitivity(assignment[1]) != "none"), None
        )
        if secret_assignment is not None:
            word = word[: secret_assignment.end()] + _value(word[secret_assignment.end() :])
        word = _SCHEME.sub(lambda match: match[1] + _value(match[2]), word)
    word = "".join(HIDDEN if is_key else piece for piece, is_key in pieces(word))
    return _LONG.sub(_long, _SIGNED.sub(HIDDEN, word))


def _value(text: str) -> str:
    return text if _REFERENCE.fullmatch(text) else HIDDEN


def _long(match: re.Match[str]) -> str:
    return HIDDEN if _LETTER.search(match[0]) and _DIGIT.search(match[0]) else match[0]
