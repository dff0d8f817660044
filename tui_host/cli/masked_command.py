"""Masks likely secrets in a displayed command, by position or by form."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tui_host.settings.credential_names import sounds_like_credential
from tui_host.settings.credential_places import in_url

HIDDEN = "•••"

# An argument may be a program of many lines: no pattern scans a part more than a few times.
_OPTION = re.compile(r"-{1,2}[\w.-]+")
_ASSIGNED = re.compile(r"(?<![\w.-])([\w.-]++)\s*+[=:]\s*(?=.)", re.DOTALL)
_SCHEME = re.compile(r"((?:bearer|basic)\s+)(.+)", re.IGNORECASE | re.DOTALL)
_REFERENCE = re.compile(r"(?:(?:bearer|basic)\s+)?\$\{?[\w:.-]+\}?", re.IGNORECASE)
_KNOWN = re.compile(r"(?:sk|pk|rk|gh[opsu]|github_pat|glpat|xox[a-z]|AKIA|AIza|hf|npm|pypi|eyJ)[_-]?[\w.-]{12,}")
"""Forms of vendors' keys."""
_LONG = re.compile(r"[\w+=]{24,}")
_LETTER, _DIGIT = re.compile(r"[A-Za-z]"), re.compile(r"[0-9]")
"""A long word of letters and digits counts as a key: options and packages are shorter."""


def hide(words: Iterable[str]) -> Iterator[str]:
    """Yield the words with likely secrets masked; references such as `${API_KEY}` stay."""
    is_value = False
    for word in words:
        if is_value and not word.startswith("-"):
            yield word if _REFERENCE.fullmatch(word) else HIDDEN
        else:
            yield _without(word)
        is_value = _OPTION.fullmatch(word) is not None and sounds_like_credential(word)


def _without(word: str) -> str:
    for span in sorted(in_url(word), reverse=True):
        if not _REFERENCE.fullmatch(word[span.start : span.end]):
            word = f"{word[: span.start]}{HIDDEN}{word[span.end :]}"
    if "://" not in word:
        secret_assignment = next(
            (assignment for assignment in _ASSIGNED.finditer(word) if sounds_like_credential(assignment[1])), None
        )
        if secret_assignment is not None:
            word = word[: secret_assignment.end()] + _value(word[secret_assignment.end() :])
        word = _SCHEME.sub(lambda match: match[1] + _value(match[2]), word)
    return _LONG.sub(_long, _KNOWN.sub(HIDDEN, word))


def _value(text: str) -> str:
    return text if _REFERENCE.fullmatch(text) else HIDDEN


def _long(match: re.Match[str]) -> str:
    return HIDDEN if _LETTER.search(match[0]) and _DIGIT.search(match[0]) else match[0]
