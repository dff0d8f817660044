"""Secrets on the screen: `••• NAME (length)` where a value is, or the mark that stands for one in what is kept.

Source: DESIGN, Contract, Secrets. Copies and exports have the mark itself.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tui_host.tui.glyphs import UNICODE, Glyphs

if TYPE_CHECKING:
    from tui_host.capture.record import Redaction
    from tui_host.capture.redact.redaction import Redactor
    from tui_host.host.host import Host

_START = "⟨secret:"
_MARK = re.compile(r"⟨secret:([\w.\-]+)⟩")


def masked(text: str, redacted: Sequence[Redaction], hide: str = UNICODE.hidden) -> str:
    """The text with the marks of what was taken out of it as masks; other people's marks stay as they are."""
    if not redacted or _START not in text:
        return text
    from tui_host.capture.redact.redaction import name_in_mark

    return _without_marks(text, {name_in_mark(secret.name): secret.length for secret in redacted}, hide)


def _without_marks(text: str, lengths: Mapping[str, int], hide: str) -> str:
    def show(match: re.Match[str]) -> str:
        name = match[1]
        return f"{hide} {name} ({lengths[name]})" if name in lengths else match[0]

    return _MARK.sub(show, text)


class Mask:
    """Hides the secrets that the host knows now.

    Args:
        redactor: Gives what knows them; None knows none.
        glyphs: The marks to draw with.
    """

    def __init__(self, redactor: Callable[[], Redactor] | None = None, glyphs: Glyphs = UNICODE) -> None:
        self._redactor = redactor
        self._hide = glyphs.hidden

    def __call__(self, text: str) -> str:
        """A text that may have values in it or marks: masks in the place of both."""
        return self.marks(self.values(text))

    def pieces(self, text: str) -> Sequence[tuple[str, str]]:
        """A text cut where values stand in it: each piece with the secret's name, empty for what is none."""
        return [(text, "")] if self._redactor is None else self._redactor().pieces(text)

    def values(self, text: str) -> str:
        """Masks in the place of values alone: a mark that somebody wrote is sent as it stands, and shown so."""
        return "".join(f"{self._hide} {name} ({len(piece)})" if name else piece for piece, name in self.pieces(text))

    def found(self, text: str) -> list[str]:
        """The mask of each secret whose value is in a text, once, in order."""
        return list(dict.fromkeys(self.values(piece) for piece, name in self.pieces(text) if name))

    def marks(self, text: str) -> str:
        """Masks in the place of marks, in a text that was kept; one of a secret that is not known any more stays."""
        if self._redactor is None or _START not in text:
            return text
        return _without_marks(text, self._redactor().lengths, self._hide)


def mask_of(host: Host, glyphs: Glyphs = UNICODE) -> Mask:
    """For what a host shows."""
    return Mask(lambda: host.redactor, glyphs)
