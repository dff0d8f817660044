"""Text that would act on a terminal, and where it must not: what the hostile server and the hostile model say."""

from __future__ import annotations

MARK = "EVIL"
"""Stands in every sequence, so that none can be taken for one of Textual's."""

NOISE = (
    f"\x1b]52;c;{MARK}\x07",
    f"\x1b]52;c;{MARK}\x1b\\",
    f"\x1b]8;;http://{MARK}.example\x1b\\here\x1b]8;;\x1b\\",
    f"\x1b]0;{MARK}\x07\x1b]2;{MARK}\x1b\\",
    f"\x1bP$q{MARK}\x1b\\\x1b_{MARK}\x1b\\\x1b^{MARK}\x1b\\\x1bX{MARK}\x1b\\",
    "\x1b[2J\x1b[?1049l\x1b[6n\x1b[c\x1b[21t\x1bc\x1b[5;5H",
    f"\x9b2J\x9d0;{MARK}\x9c\x90{MARK}\x9c\x85\x8d",
    "\x07\x08\x0b\x0c\x0e\x0f\x7f\x00",
    "\u202e\u2066\u2069\u200f\u200b\u2060\ufeff\U000e0041\u2028\u061c",
    "[red]ink[/red][@click=app.quit]press[/][/nope][link='file:///etc/passwd']x[/link]",
)
WORDS = "begin " + " ".join(NOISE) + " end"


def said(place: str) -> str:
    """The noise, with the name of where it is said, to find it on the screen."""
    return f"{place} {WORDS}"
