"""Hides what is likely a secret in the words of a command."""

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
_SHOWN = re.compile(r"(?:(?:bearer|basic)\s+)?\$\{?[\w:.-]+\}?", re.IGNORECASE)
# A long word of letters and digits counts as a key: names of options and packages are shorter. `eyJ` begins a signed token.
_LONG = re.compile(r"eyJ[\w.-]{12,}|(?=[\w+=]*[A-Za-z])(?=[\w+=]*\d)[\w+=]{24,}", re.ASCII)


def hide(words: Iterable[str]) -> Iterator[str]:
    """Yield the words of a command with likely secrets masked. References such as `${API_KEY}` stay."""

    def hidden(text: str) -> str:
        return text if _SHOWN.fullmatch(text) else HIDDEN

    is_value = False
    for word in words:
        if is_value and not word.startswith("-"):
            yield hidden(word)
            is_value = False
            continue
        is_value = _OPTION.fullmatch(word) is not None and sensitivity(word) != "none"
        left = word
        for start, end, _ in sorted(in_url(word), reverse=True):
            left = f"{left[:start]}{hidden(left[start:end])}{left[end:]}"
        if "://" not in left:
            names = (match for match in _ASSIGNED.finditer(left) if sensitivity(match[1]) != "none")
            if (secret := next(names, None)) is not None:
                left = left[: secret.end()] + hidden(left[secret.end() :])
            left = _SCHEME.sub(lambda match: hidden(match[0]), left)
        left = "".join(HIDDEN if is_key else piece for piece, is_key in pieces(left))
        yield _LONG.sub(HIDDEN, left)
