"""Hides secrets where records are shown: `••• NAME (length)` replaces values, vendors' keys, and the marks in saved text.

Copies and exports contain the mark itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from tui_host.settings.sensitivity import VENDOR_KEY, pieces

if TYPE_CHECKING:
    from tui_host.capture.record import Redaction
    from tui_host.capture.redact.redaction import Redactor

HIDDEN = "•••"
_START = "⟨secret:"
_MARK = re.compile(r"⟨secret:([\w.\-]+)⟩")


def masked(text: str, redacted: Sequence[Redaction], hide: str = HIDDEN) -> str:
    """Replace the marks of removed secrets by masks; marks written by people stay."""
    if redacted and _START in text:
        from tui_host.capture.redact.redaction import name_in_mark

        text = _without_marks(text, {name_in_mark(secret.name): secret.length for secret in redacted}, hide)
    return _masked_pieces(_with_vendor_keys(text), hide)


def _with_vendor_keys(text: str) -> list[tuple[str, str]]:
    return [(piece, VENDOR_KEY if is_key else "") for piece, is_key in pieces(text)]


def _masked_pieces(pieces: Iterable[tuple[str, str]], hide: str) -> str:
    return "".join(f"{hide} {name} ({len(piece)})" if name else piece for piece, name in pieces)


def _without_marks(text: str, lengths: Mapping[str, int], hide: str) -> str:
    def show(match: re.Match[str]) -> str:
        name = match[1]
        return f"{hide} {name} ({lengths[name]})" if name in lengths else match[0]

    return _MARK.sub(show, text)


class Mask:
    """Hides the secrets that a redactor knows; without one nothing but vendors' keys."""

    def __init__(self, redactor: Callable[[], Redactor] | None = None, hide: str = HIDDEN) -> None:
        self._redactor = redactor
        self._hide = hide

    def __call__(self, text: str) -> str:
        """Mask values and marks in a text."""
        return self.marks(self.values(text))

    def pieces(self, text: str) -> Sequence[tuple[str, str]]:
        """Cut a text at secret values: pieces with the secret's name, or an empty name."""
        known = [(text, "")] if self._redactor is None else self._redactor().pieces(text)
        return [part for piece, name in known for part in ([(piece, name)] if name else _with_vendor_keys(piece))]

    def values(self, text: str) -> str:
        """Hide only values: a mark that the user typed is sent and shown unchanged."""
        return _masked_pieces(self.pieces(text), self._hide)

    def found(self, text: str) -> list[str]:
        """Return the mask of each secret in a text, in order, without repeats."""
        return list(dict.fromkeys(self.values(piece) for piece, name in self.pieces(text) if name))

    def marks(self, text: str) -> str:
        """Mask the marks and the vendors' keys in a saved text; marks of unknown secrets stay."""
        if self._redactor is not None and _START in text:
            text = _without_marks(text, self._redactor().lengths, self._hide)
        return _masked_pieces(_with_vendor_keys(text), self._hide)
