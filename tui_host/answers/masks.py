"""Hides secrets where records are shown: `••• NAME (length)` replaces values, vendors' keys, and the marks in saved text.

Copies and exports contain the mark itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from tui_host.settings.sensitivity import VENDOR_KEY, pieces

if TYPE_CHECKING:
    from tui_host.capture.record import Redaction
    from tui_host.capture.redact.redaction import Redactor

HIDDEN = "•••"
_START = "⟨secret:"
_MARK = re.compile(r"⟨secret:([\w.\-]+)⟩")


def masked(text: str, secrets: Sequence[Redaction] | Mapping[str, int]) -> str:
    """Mask vendors' keys, and the marks of secrets: removed ones, or lengths by name. Marks written by people stay."""
    lengths: Mapping[str, int] = {}
    if isinstance(secrets, Mapping):
        lengths = secrets
    elif secrets and _START in text:
        from tui_host.capture.redact.redaction import name_in_mark

        lengths = {name_in_mark(secret.name): secret.length for secret in secrets}
    if lengths:
        text = _MARK.sub(
            lambda mark: f"{HIDDEN} {mark[1]} ({lengths[mark[1]]})" if mark[1] in lengths else mark[0], text
        )
    return "".join(f"{HIDDEN} {VENDOR_KEY} ({len(piece)})" if is_key else piece for piece, is_key in pieces(text))


class Mask(NamedTuple):
    """Hides the secrets that a redactor knows; without one nothing but vendors' keys."""

    redactor: Callable[[], Redactor] | None = None

    def __call__(self, text: str) -> str:
        """Mask values and marks in a text."""
        return self.marks(self.values(text))

    def pieces(self, text: str) -> Sequence[tuple[str, str]]:
        """Cut a text at secret values: pieces with the secret's name, or an empty name."""
        known = [(text, "")] if self.redactor is None else self.redactor().pieces(text)
        cut: list[tuple[str, str]] = []
        for piece, name in known:
            if name:
                cut.append((piece, name))
            else:
                cut += [(part, VENDOR_KEY * is_key) for part, is_key in pieces(piece)]
        return cut

    def values(self, text: str) -> str:
        """Hide only values: a mark that the user typed is sent and shown unchanged."""
        return "".join(f"{HIDDEN} {name} ({len(piece)})" if name else piece for piece, name in self.pieces(text))

    def found(self, text: str) -> list[str]:
        """Return the mask of each secret in a text, in order, without repeats."""
        return list(dict.fromkeys(self.values(piece) for piece, name in self.pieces(text) if name))

    def marks(self, text: str) -> str:
        """Mask the marks and the vendors' keys in a saved text; marks of unknown secrets stay."""
        lengths: Mapping[str, int] = self.redactor().lengths if self.redactor is not None and _START in text else {}
        return masked(text, lengths)
