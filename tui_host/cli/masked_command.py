"""Secrets in a command that is shown: what looks like one, by its place or its form, is not written out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tui_host.settings.credential_names import sounds_like_credential
from tui_host.settings.credential_places import in_url

HIDDEN = "•••"

# An argument may be a program of many lines: none of these looks at a part of it more than a few times.
_OPTION = re.compile(r"-{1,2}[\w.-]+")
_ASSIGNED = re.compile(r"(?<![\w.-])([\w.-]++)\s*+[=:]\s*(?=.)", re.DOTALL)
_SCHEME = re.compile(r"((?:bearer|basic)\s+)(.+)", re.IGNORECASE | re.DOTALL)
_REFERENCE = re.compile(r"(?:(?:bearer|basic)\s+)?\$\{?[\w:.-]+\}?", re.IGNORECASE)
_KNOWN = re.compile(r"(?:sk|pk|rk|gh[opsu]|github_pat|glpat|xox[a-z]|AKIA|AIza|hf|npm|pypi|eyJ)[_-]?[\w.-]{12,}")
"""What vendors' keys look like."""
_LONG = re.compile(r"[\w+=]{24,}")
_LETTER, _DIGIT = re.compile(r"[A-Za-z]"), re.compile(r"[0-9]")
"""Long words of letters and digits are keys too: no option or package is one."""


def hide(words: Iterable[str]) -> Iterator[str]:
    """The words with what may be a secret hidden; references such as `${API_KEY}` are none."""
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
        told = next((each for each in _ASSIGNED.finditer(word) if sounds_like_credential(each[1])), None)
        if told is not None:
            word = word[: told.end()] + _value(word[told.end() :])
        word = _SCHEME.sub(lambda match: match[1] + _value(match[2]), word)
    return _LONG.sub(_long, _KNOWN.sub(HIDDEN, word))


def _value(text: str) -> str:
    return text if _REFERENCE.fullmatch(text) else HIDDEN


def _long(match: re.Match[str]) -> str:
    return HIDDEN if _LETTER.search(match[0]) and _DIGIT.search(match[0]) else match[0]
