"""Finds texts in the bytes of bodies, in any case, also where JSON writes them with escapes."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator


class Needles:
    """Texts to find in bytes.

    Attributes:
        texts: The texts, as the filter has them.
        overlap: Bytes that two pieces of a body must share, so that no text is cut in two.
    """

    def __init__(self, texts: Iterable[str]) -> None:
        self._forms = {text: tuple(dict.fromkeys(_forms(text))) for text in texts if text}
        self.texts = frozenset(self._forms)
        self.overlap = max((len(form) for forms in self._forms.values() for form in forms), default=1) - 1

    def contained(self, data: bytes) -> frozenset[str]:
        """Return the texts in some bytes."""
        lowered = data.lower()
        return frozenset(text for text, forms in self._forms.items() if any(map(lowered.__contains__, forms)))


def _forms(text: str) -> Iterator[bytes]:
    """Yield the bytes that a text may have; `bytes.lower` changes the letters of ASCII alone."""
    for variant in (text.lower(), text.upper()):
        for written in (variant, *(json.dumps(variant, ensure_ascii=escaped)[1:-1] for escaped in (False, True))):
            yield written.encode("utf-8", "backslashreplace").lower()
