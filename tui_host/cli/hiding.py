"""Secrets in a command that is shown: what looks like one, by its place or its form, is not written out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from tui_host.settings.credentials import is_credential_key

HIDDEN = "•••"

_NAME = r"[\w.-]*(?:key|token|secret|passw|pwd|auth|credential|cookie|bearer)[\w.-]*"
_OPTION = re.compile(rf"-{{1,2}}{_NAME}", re.IGNORECASE)
_ASSIGNED = re.compile(rf"({_NAME}\s*[=:]\s*)(.+)", re.IGNORECASE | re.DOTALL)
_SCHEME = re.compile(r"((?:bearer|basic)\s+)(.+)", re.IGNORECASE | re.DOTALL)
_USERINFO = re.compile(r"(\w[\w+.-]*://)[^/?#@\s]+@")
_PARAMETER = re.compile(r"([?&;#])([^=&;#?\s]+)=([^&#\s]+)")
_REFERENCE = re.compile(r"(?:(?:bearer|basic)\s+)?\$\{?[\w:.-]+\}?", re.IGNORECASE)
_KNOWN = re.compile(
    r"(?:sk|pk|rk|gh[opsu]|github_pat|glpat|xox[a-z]|AKIA|AIza|hf|npm|pypi|eyJ)[_-]?[\w.-]{12,}"
    r"|(?=\w*[0-9])(?=\w*[A-Za-z])[\w+=]{24,}"
)
"""What vendors' keys look like, and long words of letters and digits, as no option or package is."""


def hide(words: Iterable[str]) -> Iterator[str]:
    """The words with what may be a secret hidden; references such as `${API_KEY}` are none."""
    is_value = False
    for word in words:
        if is_value and not word.startswith("-"):
            yield word if _REFERENCE.fullmatch(word) else HIDDEN
        else:
            yield _without(word)
        is_value = _OPTION.fullmatch(word) is not None


def _without(word: str) -> str:
    word = _USERINFO.sub(rf"\1{HIDDEN}@", word)
    word = _PARAMETER.sub(_parameter, word)
    if "://" not in word:
        for pattern in (_ASSIGNED, _SCHEME):
            word = pattern.sub(_value, word)
    return _KNOWN.sub(HIDDEN, word)


def _parameter(match: re.Match[str]) -> str:
    is_secret = is_credential_key(match[2]) and not _REFERENCE.fullmatch(match[3])
    return f"{match[1]}{match[2]}={HIDDEN}" if is_secret else match[0]


def _value(match: re.Match[str]) -> str:
    return match[0] if _REFERENCE.fullmatch(match[2]) else f"{match[1]}{HIDDEN}"
